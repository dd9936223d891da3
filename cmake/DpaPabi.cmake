# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The provider's file for each private ABI number of libibverbs (DPA_PABIS). Those that are not the installed
# one's are linked against a small fake of that libibverbs, which has its symbols under their version node.

set(DPA_PABI_KNOWN 34 57 59 64 65)

# dpa_fake_ibverbs(TARGET NUMBER LATE): libibverbs.so.1 in a folder of its own, never installed
function(dpa_fake_ibverbs target number late)
  set(folder ${CMAKE_BINARY_DIR}/pabi/${target})
  file(WRITE ${folder}/ibverbs.map.new "IBVERBS_1.16 { global: ibv_dm_export_dmabuf_fd; };
IBVERBS_PRIVATE_${number} {
	global:
		verbs_register_driver_${number};
		_verbs_init_and_alloc_context; verbs_set_ops; verbs_uninit_context;
		verbs_init_cq; __verbs_log;
		fake_ibverbs;
	local:
		*;
};
")
  configure_file(${folder}/ibverbs.map.new ${folder}/ibverbs.map COPYONLY)
  add_library(${target} SHARED ${CMAKE_SOURCE_DIR}/providers/dpa/compat/fake_ibverbs.c)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ibverbs SOVERSION 1 C_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY ${folder})
  target_compile_definitions(${target} PRIVATE FAKE_PABI=${number} FAKE_LATE=${late})
  target_include_directories(${target} PRIVATE ${IBVERBS_INCLUDE_DIRS})
  target_link_options(${target} PRIVATE -Wl,--version-script=${folder}/ibverbs.map)
endfunction()

# dpa_pabi_provider(NUMBER FOLDER): target dpa-rdmav<NUMBER>, FOLDER/libdpa-rdmav<NUMBER>.so
function(dpa_pabi_provider number folder)
  set(dir ${CMAKE_SOURCE_DIR}/providers/dpa)
  include(${dir}/sources.cmake)
  dpa_provider_sources(src ${dir})
  if(number EQUAL DPA_PABI)
    set(library PkgConfig::IBVERBS)
  elseif(number IN_LIST DPA_PABI_KNOWN)
    dpa_fake_ibverbs(fake_ibverbs_${number} ${number} 0)
    set(library fake_ibverbs_${number})
  else()
    message(FATAL_ERROR "DPA_PABIS: ${number} is not one of ${DPA_PABI_KNOWN}")
  endif()
  add_library(dpa-rdmav${number} SHARED ${src})
  target_include_directories(dpa-rdmav${number} PRIVATE ${dir} ${dir}/compat ${IBVERBS_INCLUDE_DIRS})
  target_compile_definitions(dpa-rdmav${number} PRIVATE IBVERBS_PABI_VERSION=${number}
                             ${DPA_VERBS_DEFINITIONS})
  target_link_libraries(dpa-rdmav${number} PRIVATE ${library} dpa_device Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(dpa-rdmav${number} PROPERTIES NO_SONAME ON SKIP_BUILD_RPATH ON
                        LIBRARY_OUTPUT_DIRECTORY ${folder} LINK_DEPENDS ${dir}/provider.map)
  target_link_options(dpa-rdmav${number} PRIVATE
    -Wl,--version-script=${dir}/provider.map -Wl,--exclude-libs,ALL
    -Wl,-z,nodelete) # libibverbs keeps pointers into it: redirect.c, verbs_register_driver()
endfunction()
