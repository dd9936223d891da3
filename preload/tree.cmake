# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# share/dpa: what sysfs and /dev would show of dpa0. What differs from host to host (node_guid,
# gids) is answered by the preload; these values stand in where there is none.
set(DPA_TREE ${CMAKE_BINARY_DIR}/share/dpa)
set(DPA_VERBS sysfs/class/infiniband_verbs)

# dpa_tree_file(PATH TEXT): written only when it changes.
function(dpa_tree_file path text)
  file(GENERATE OUTPUT ${DPA_TREE}/${path} CONTENT "${text}\n")
endfunction()

dpa_tree_file(${DPA_VERBS}/abi_version "6")
dpa_tree_file(sysfs/class/infiniband_mad/abi_version "5") # ibstat asks; there is no MAD device

# dpa_tree_device(ROOT DEVICE NUMBER DESCRIPTION): a device below ROOT/class.
function(dpa_tree_device root name number desc)
  set(uverbs ${root}/class/infiniband_verbs/uverbs_${name})
  dpa_tree_file(${uverbs}/ibdev "${name}")
  dpa_tree_file(${uverbs}/dev "1:3") # /dev/null: any character device would do
  dpa_tree_file(${uverbs}/abi_version "1")

  set(ibdev ${root}/class/infiniband/${name})
  dpa_tree_file(${ibdev}/node_type "1: CA")
  dpa_tree_file(${ibdev}/node_guid "02d9:a000:0000:000${number}")
  dpa_tree_file(${ibdev}/sys_image_guid "02d9:a000:0000:0000")
  dpa_tree_file(${ibdev}/node_desc "${desc}")
  dpa_tree_file(${ibdev}/fw_ver "${PROJECT_VERSION}")
  dpa_tree_file(${ibdev}/hw_rev "1")
  dpa_tree_file(${ibdev}/hca_type "dpa")
  dpa_tree_file(${ibdev}/board_id "DPA0")

  dpa_tree_file(${ibdev}/ports/1/state "4: ACTIVE")
  dpa_tree_file(${ibdev}/ports/1/phys_state "5: LinkUp")
  dpa_tree_file(${ibdev}/ports/1/link_layer "Ethernet")
  dpa_tree_file(${ibdev}/ports/1/rate "100 Gb/sec (4X EDR)")
  dpa_tree_file(${ibdev}/ports/1/lid "0x0")
  dpa_tree_file(${ibdev}/ports/1/lid_mask_count "0")
  dpa_tree_file(${ibdev}/ports/1/sm_lid "0x0")
  dpa_tree_file(${ibdev}/ports/1/sm_sl "0")
  dpa_tree_file(${ibdev}/ports/1/cap_mask "0x04010000")
  dpa_tree_file(${ibdev}/ports/1/pkeys/0 "0xffff")
  file(MAKE_DIRECTORY ${DPA_TREE}/${ibdev}/ports/1/gids ${DPA_TREE}/${ibdev}/ports/1/gid_attrs/types
                      ${DPA_TREE}/${ibdev}/ports/1/gid_attrs/ndevs)
endfunction()

dpa_tree_device(sysfs dpa0 0 "dpa0 software adapter")
# SFs lie beside the tree: how many there are is a setting, which the preload and dpa-run read.
foreach(n RANGE 1 7)
  dpa_tree_device(sf/${n} dpa0_sf${n} ${n} "dpa0 software adapter, SF ${n}")
endforeach()

file(MAKE_DIRECTORY ${DPA_TREE}/dev/infiniband)
file(CREATE_LINK /dev/null ${DPA_TREE}/dev/infiniband/uverbs_dpa0 SYMBOLIC)
# Where dpa-run --no-preload mounts what only its program sees.
file(MAKE_DIRECTORY ${DPA_TREE}/mnt)

install(DIRECTORY ${DPA_TREE} DESTINATION ${CMAKE_INSTALL_DATADIR})
