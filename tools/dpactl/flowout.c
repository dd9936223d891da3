/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* flowout.c - flows in CSV and JSON: flowout.h. */
#include <string.h>
#include <pcc/pcc.h>
#include "flowout.h"
#include "plot.h"

void flow_csv(FILE *out, const struct flow_out *f)
{
	plot_fixed(out, plot_mbits(f->bytes, f->ns), 3);
	fputc(',', out);
	if (f->rate < DPA_PCC_NO_LIMIT)
		plot_fixed(out, f->rate * 8 / 1000, 3);
	fprintf(out, ",%u,", f->window);
	if (f->rtt_num)
		plot_fixed(out, f->rtt_sum / f->rtt_num, 3);
	fputc(',', out);
	if (f->rtt_num)
		plot_fixed(out, f->rtt_max, 3);
}

void flow_json(struct json_object *o, const struct flow_out *f)
{
	json_add_num(o, "bytes", f->bytes);
	if (f->rate < DPA_PCC_NO_LIMIT)
		json_add_num(o, "rate_bps", f->rate * 8);
	json_add_num(o, "window", f->window);
	if (f->rtt_num) {
		json_add_num(o, "rtt_ns", f->rtt_sum / f->rtt_num);
		json_add_num(o, "rtt_max_ns", f->rtt_max);
	}
}

void flow_put_json(FILE *out, struct json_object *o)
{
	fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), out);
	json_object_put(o);
}

bool flow_ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n >= k && strcmp(name + n - k, end) == 0;
}
