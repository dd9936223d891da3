/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* files.c - the files of the page, which the build makes into arrays. */
#include <string.h>
#include "web.h"
#include "web_files.h"

#define FILE_OF(path, type, array)                                                                 \
	{                                                                                          \
		path, type, array, sizeof(array) - 1                                               \
	}

static const struct web_file files[] = {
	FILE_OF("/", "text/html; charset=utf-8", web_page_html),
	FILE_OF("/page.css", "text/css; charset=utf-8", web_page_css),
	FILE_OF("/page.js", "text/javascript; charset=utf-8", web_page_js),
	FILE_OF("/map.js", "text/javascript; charset=utf-8", web_map_js),
	FILE_OF("/uPlot.js", "text/javascript; charset=utf-8", web_uPlot_js),
	FILE_OF("/uPlot.css", "text/css; charset=utf-8", web_uPlot_css),
};

const struct web_file *web_file(const char *path)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(files[i].path, path) == 0)
			return &files[i];
	return NULL;
}
