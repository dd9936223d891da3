/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* page.c - a recording as one HTML page: page.html with the JSON in place of @DATA@. */
#include <string.h>
#include "output.h"
#include "trace_page.h" /* made of page.html: page_html[] */

void trace_page(FILE *out, const struct store *s, const struct wqes *w)
{
	static const char mark[] = "@DATA@";
	const char *at = strstr(page_html, mark);

	fwrite(page_html, 1, (size_t)(at - page_html), out);
	trace_json(out, s, w);
	fputs(at + strlen(mark), out);
}
