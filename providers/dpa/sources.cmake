# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# dpa_provider_sources(VAR DIR): all of the provider below DIR.
set(DPA_PROVIDER_FOLDERS cm cma control cq discovery mr post qp raw redirect)

function(dpa_provider_sources var dir)
  set(all ${dir}/*.c)
  foreach(folder ${DPA_PROVIDER_FOLDERS})
    list(APPEND all ${dir}/${folder}/*.c)
  endforeach()
  file(GLOB src CONFIGURE_DEPENDS ${all})
  set(${var} ${src} PARENT_SCOPE)
endfunction()
