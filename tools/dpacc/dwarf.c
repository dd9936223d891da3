/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dwarf.c - the parameters of the entries, from the debug information of the objects that define
 * them.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include "types.h"

static bool complain_of_param(const struct entry *e, Dwarf_Die *p, const struct ctype *t)
{
	const char *name = dwarf_diename(p);

	return error("%s: parameter '%s' of '%s' %s %s, which cannot be passed to the device",
		     e->where, name ? name : "?", e->name, t->inside ? "contains" : "is",
		     t->why ? t->why : "of unknown type");
}

static bool read_param(struct entry *e, struct types *all, Dwarf_Die *p, bool *word)
{
	struct ctype t;

	if (!types_of(all, p, &t))
		return complain_of_param(e, p, &t);
	*word = t.word;
	e->params = must(realloc(e->params, (e->nparams + 1) * sizeof(*e->params)));
	e->params[e->nparams++] = (struct param){t.name, t.promoted};
	return true;
}

static bool read_entry_params(struct entry *e, struct types *all, Dwarf_Die *func)
{
	bool word = false;
	Dwarf_Die p;

	e->thread = e->ann == ANN_GLOBAL;
	if (dwarf_child(func, &p))
		return true;
	do {
		if (dwarf_tag(&p) == DW_TAG_unspecified_parameters)
			return error("%s: '%s' takes a variable number of arguments, which cannot "
				     "be passed to the device",
				     e->where, e->name);
		if (dwarf_tag(&p) == DW_TAG_formal_parameter && !read_param(e, all, &p, &word))
			return false;
	} while (!dwarf_siblingof(&p, &p));
	e->thread &= !e->nparams || (e->nparams == 1 && word);
	return true;
}

static bool read_func(struct entry *e, struct types *all, Dwarf_Die *func)
{
	struct ctype t;
	bool returns = types_of(all, func, &t);

	free(t.name);
	e->found = true;
	if (e->ann == ANN_GLOBAL && (returns || t.why))
		return error("%s: '%s' is __dpa_global__ and must return void", e->where, e->name);
	if (e->ann == ANN_RPC && !t.int64)
		return error("%s: '%s' is __dpa_rpc__ and must return uint64_t", e->where, e->name);
	return read_entry_params(e, all, func);
}

struct walk {
	struct entries *e;
	size_t source;
	struct types *all;
	bool ok;
};

static int on_func(Dwarf_Die *func, void *arg)
{
	struct walk *w = arg;
	const char *name = dwarf_diename(func);
	Dwarf_Attribute attr;

	if (!name || !dwarf_attr_integrate(func, DW_AT_external, &attr) ||
	    dwarf_attr(func, DW_AT_declaration, &attr))
		return DWARF_CB_OK;
	for (size_t i = 0; i < w->e->n; i++) {
		if (w->e->v[i].found || strcmp(w->e->v[i].name, name))
			continue;
		w->e->v[i].source = w->source;
		w->ok &= read_func(&w->e->v[i], w->all, func);
	}
	return DWARF_CB_OK;
}

/* Read by libdwfl, because the debug information of an object is not relocated yet. */
bool dwarf_read(const char *object, size_t source, struct entries *e, struct types *all)
{
	static const Dwfl_Callbacks cb = {
		.section_address = dwfl_offline_section_address,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	struct walk w = {.e = e, .source = source, .all = all, .ok = true};
	Dwfl *dwfl = dwfl_begin(&cb);
	Dwfl_Module *mod = dwfl ? dwfl_report_offline(dwfl, "", object, -1) : NULL;
	Dwarf_Addr bias;
	Dwarf *dw = mod ? dwfl_module_getdwarf(mod, &bias) : NULL;
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die;
	int ret = -1;

	while (dw && !(ret = dwarf_get_units(dw, cu, &cu, NULL, &type, &die, NULL)))
		if (type == DW_UT_compile)
			dwarf_getfuncs(&die, on_func, &w, 0);
	if (ret != 1)
		w.ok = error("%s: no debug information: %s", object, dwfl_errmsg(-1));
	if (dwfl)
		dwfl_end(dwfl);
	return w.ok;
}
