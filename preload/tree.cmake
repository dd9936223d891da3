# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# share/dpa: what sysfs and /dev show of dpa0. The layout is that of a kernel: the device is a folder
# below devices/, the class folders have links to it. What differs from host to host (node_guid,
# gids) is answered by the preload; these values stand in where there is none.
set(DPA_TREE ${CMAKE_BINARY_DIR}/share/dpa)
set(DPA_PCI_BUS devices/pcid9a0:00) # the domain is ours: dpadv_query_function() reports it

# dpa_tree_file(PATH TEXT): written only when it changes.
function(dpa_tree_file path text)
  file(GENERATE OUTPUT ${DPA_TREE}/${path} CONTENT "${text}\n")
endfunction()

# dpa_tree_link(PATH TARGET): a folder of an earlier layout at that place is removed.
function(dpa_tree_link path target)
  set(at ${DPA_TREE}/${path})
  if(IS_DIRECTORY ${at} AND NOT IS_SYMLINK ${at})
    file(REMOVE_RECURSE ${at})
  endif()
  get_filename_component(folder ${at} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${target} ${at} SYMBOLIC)
endfunction()

dpa_tree_file(sysfs/class/infiniband_verbs/abi_version "6")
dpa_tree_file(sysfs/class/infiniband_mad/abi_version "5") # ibstat asks; there is no MAD device

# dpa_tree_pci(PCI ADDRESS): the PCI function. Vendor d9a0 belongs to nobody; the device is the
# vendor_part_id of verbs. `config` is answered by the preload.
function(dpa_tree_pci pci address)
  dpa_tree_file(${pci}/class "0x020700")
  dpa_tree_file(${pci}/vendor "0xd9a0")
  dpa_tree_file(${pci}/device "0xd0a0")
  dpa_tree_file(${pci}/subsystem_vendor "0xd9a0")
  dpa_tree_file(${pci}/subsystem_device "0x0001")
  dpa_tree_file(${pci}/revision "0x01")
  dpa_tree_file(${pci}/irq "0")
  dpa_tree_file(${pci}/enable "1")
  dpa_tree_file(${pci}/numa_node "-1")
  dpa_tree_file(${pci}/local_cpus "1")
  dpa_tree_file(${pci}/local_cpulist "0")
  dpa_tree_file(${pci}/current_link_speed "16.0 GT/s PCIe")
  dpa_tree_file(${pci}/current_link_width "16")
  dpa_tree_file(${pci}/max_link_speed "16.0 GT/s PCIe")
  dpa_tree_file(${pci}/max_link_width "16")
  set(id v0000D9A0d0000D0A0sv0000D9A0sd00000001bc02sc07i00)
  dpa_tree_file(${pci}/modalias "pci:${id}")
  set(no_resource "0x0000000000000000 0x0000000000000000 0x0000000000000000\n")
  string(REPEAT "${no_resource}" 13 resources)
  string(STRIP "${resources}" resources)
  dpa_tree_file(${pci}/resource "${resources}")
  string(JOIN "\n" uevent PCI_CLASS=20700 PCI_ID=D9A0:D0A0 PCI_SUBSYS_ID=D9A0:0001
         PCI_SLOT_NAME=${address} MODALIAS=pci:${id})
  dpa_tree_file(${pci}/uevent "${uevent}")
  dpa_tree_link(${pci}/subsystem ../../../bus/pci)
  file(MAKE_DIRECTORY ${DPA_TREE}/${pci}/net)
endfunction()

# dpa_tree_port(PORT): port 1 of the RDMA device.
function(dpa_tree_port port)
  dpa_tree_file(${port}/state "4: ACTIVE")
  dpa_tree_file(${port}/phys_state "5: LinkUp")
  dpa_tree_file(${port}/link_layer "Ethernet")
  dpa_tree_file(${port}/rate "100 Gb/sec (4X EDR)")
  dpa_tree_file(${port}/lid "0x0")
  dpa_tree_file(${port}/lid_mask_count "0")
  dpa_tree_file(${port}/sm_lid "0x0")
  dpa_tree_file(${port}/sm_sl "0")
  dpa_tree_file(${port}/cap_mask "0x04010000")
  dpa_tree_file(${port}/pkeys/0 "0xffff")
  foreach(folder gids gid_attrs/types gid_attrs/ndevs)
    file(MAKE_DIRECTORY ${DPA_TREE}/${port}/${folder})
  endforeach()
endfunction()

# dpa_tree_device(ROOT NAME NUMBER DESCRIPTION): a function of the board; ROOT stands for /sys.
function(dpa_tree_device root name number desc)
  set(address d9a0:00:00.${number})
  set(pci ${root}/${DPA_PCI_BUS}/${address})
  set(from_class ../../${DPA_PCI_BUS}/${address})
  dpa_tree_pci(${pci} ${address})
  dpa_tree_link(${root}/bus/pci/devices/${address} ../../../${DPA_PCI_BUS}/${address})

  set(uverbs infiniband_verbs/uverbs_${name})
  dpa_tree_link(${root}/class/${uverbs} ${from_class}/${uverbs})
  dpa_tree_file(${pci}/${uverbs}/ibdev "${name}")
  dpa_tree_file(${pci}/${uverbs}/dev "1:3") # /dev/null: any character device would do
  dpa_tree_file(${pci}/${uverbs}/abi_version "1")
  string(JOIN "\n" uevent MAJOR=1 MINOR=3 DEVNAME=infiniband/uverbs_${name})
  dpa_tree_file(${pci}/${uverbs}/uevent "${uevent}")
  dpa_tree_link(${pci}/${uverbs}/device ../../../${address})
  dpa_tree_link(${pci}/${uverbs}/subsystem ../../../../../class/infiniband_verbs)

  set(ibdev infiniband/${name})
  dpa_tree_link(${root}/class/${ibdev} ${from_class}/${ibdev})
  dpa_tree_file(${pci}/${ibdev}/node_type "1: CA")
  dpa_tree_file(${pci}/${ibdev}/node_guid "02d9:a000:0000:000${number}")
  dpa_tree_file(${pci}/${ibdev}/sys_image_guid "02d9:a000:0000:0000")
  dpa_tree_file(${pci}/${ibdev}/node_desc "${desc}")
  dpa_tree_file(${pci}/${ibdev}/fw_ver "${PROJECT_VERSION}")
  dpa_tree_file(${pci}/${ibdev}/hw_rev "${DPA_HW_REV}")
  dpa_tree_file(${pci}/${ibdev}/hca_type "dpa")
  dpa_tree_file(${pci}/${ibdev}/board_id "DPA0")
  dpa_tree_file(${pci}/${ibdev}/uevent "NAME=${name}")
  dpa_tree_link(${pci}/${ibdev}/device ../../../${address})
  dpa_tree_link(${pci}/${ibdev}/subsystem ../../../../../class/infiniband)
  dpa_tree_port(${pci}/${ibdev}/ports/1)
endfunction()

# As ibv_query_device() has it (hw_ver); a change of it makes the tree anew.
set(header ${CMAKE_SOURCE_DIR}/device/include/dpa_hw.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(STRINGS ${header} DPA_HW_REV REGEX "^#define DPA_HW_VERSION ")
string(REGEX REPLACE "^#define DPA_HW_VERSION ([0-9]+).*" "\\1" DPA_HW_REV "${DPA_HW_REV}")

dpa_tree_device(sysfs dpa0 0 "dpa0 software adapter")
foreach(folder counters hw_counters) # of the whole adapter: the files are answered by the preload
  file(MAKE_DIRECTORY ${DPA_TREE}/sysfs/${DPA_PCI_BUS}/d9a0:00:00.0/infiniband/dpa0/ports/1/${folder})
endforeach()
# SFs lie beside the tree: how many there are is a setting, which the preload and dpa-run read.
foreach(n RANGE 1 7)
  dpa_tree_device(sf/${n} dpa0_sf${n} ${n} "dpa0 software adapter, SF ${n}")
endforeach()

# A setting of rdma_cm's kernel module, below /proc/sys/net: UCX reads it.
dpa_tree_file(sysctl/rdma_ucm/max_backlog "1024")

file(MAKE_DIRECTORY ${DPA_TREE}/dev/infiniband)
file(CREATE_LINK /dev/null ${DPA_TREE}/dev/infiniband/uverbs_dpa0 SYMBOLIC)
# Where dpa-run --no-preload mounts what only its program sees.
file(MAKE_DIRECTORY ${DPA_TREE}/mnt)

install(DIRECTORY ${DPA_TREE} DESTINATION ${CMAKE_INSTALL_DATADIR})
