# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# share/dpa: what sysfs and /dev would show of dpa0. What differs from host to host (node_guid,
# gids) is answered by the preload; these values stand in where there is none.
set(DPA_TREE ${CMAKE_BINARY_DIR}/share/dpa)
set(DPA_VERBS sysfs/class/infiniband_verbs)
set(DPA_IBDEV sysfs/class/infiniband/dpa0)

# dpa_tree_file(PATH TEXT): written only when it changes.
function(dpa_tree_file path text)
  file(GENERATE OUTPUT ${DPA_TREE}/${path} CONTENT "${text}\n")
endfunction()

dpa_tree_file(${DPA_VERBS}/abi_version "6")
dpa_tree_file(${DPA_VERBS}/uverbs_dpa0/ibdev "dpa0")
dpa_tree_file(${DPA_VERBS}/uverbs_dpa0/dev "1:3") # /dev/null: any character device would do
dpa_tree_file(${DPA_VERBS}/uverbs_dpa0/abi_version "1")
dpa_tree_file(sysfs/class/infiniband_mad/abi_version "5") # ibstat asks; there is no MAD device

dpa_tree_file(${DPA_IBDEV}/node_type "1: CA")
dpa_tree_file(${DPA_IBDEV}/node_guid "02d9:a000:0000:0001")
dpa_tree_file(${DPA_IBDEV}/sys_image_guid "02d9:a000:0000:0001")
dpa_tree_file(${DPA_IBDEV}/node_desc "dpa0 software adapter")
dpa_tree_file(${DPA_IBDEV}/fw_ver "${PROJECT_VERSION}")
dpa_tree_file(${DPA_IBDEV}/hw_rev "1")
dpa_tree_file(${DPA_IBDEV}/hca_type "dpa")
dpa_tree_file(${DPA_IBDEV}/board_id "DPA0")

dpa_tree_file(${DPA_IBDEV}/ports/1/state "4: ACTIVE")
dpa_tree_file(${DPA_IBDEV}/ports/1/phys_state "5: LinkUp")
dpa_tree_file(${DPA_IBDEV}/ports/1/link_layer "Ethernet")
dpa_tree_file(${DPA_IBDEV}/ports/1/rate "100 Gb/sec (4X EDR)")
dpa_tree_file(${DPA_IBDEV}/ports/1/lid "0x0")
dpa_tree_file(${DPA_IBDEV}/ports/1/lid_mask_count "0")
dpa_tree_file(${DPA_IBDEV}/ports/1/sm_lid "0x0")
dpa_tree_file(${DPA_IBDEV}/ports/1/sm_sl "0")
dpa_tree_file(${DPA_IBDEV}/ports/1/cap_mask "0x04010000")
dpa_tree_file(${DPA_IBDEV}/ports/1/pkeys/0 "0xffff")
file(MAKE_DIRECTORY ${DPA_TREE}/${DPA_IBDEV}/ports/1/gids
                    ${DPA_TREE}/${DPA_IBDEV}/ports/1/gid_attrs/types
                    ${DPA_TREE}/${DPA_IBDEV}/ports/1/gid_attrs/ndevs)

file(MAKE_DIRECTORY ${DPA_TREE}/dev/infiniband)
file(CREATE_LINK /dev/null ${DPA_TREE}/dev/infiniband/uverbs_dpa0 SYMBOLIC)
# Where dpa-run --no-preload mounts what only its program sees.
file(MAKE_DIRECTORY ${DPA_TREE}/mnt)

install(DIRECTORY ${DPA_TREE} DESTINATION ${CMAKE_INSTALL_DATADIR})
