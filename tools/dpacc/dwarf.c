/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The types of the entries, from the image's debug information. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dpacc.h"

/* The type of a die without its typedefs and qualifiers. False: void. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die raw;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), &raw))
		return false;
	return dwarf_peel_type(&raw, type) == 0;
}

static bool is_int64(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word enc, size;

	if (dwarf_tag(type) != DW_TAG_base_type || dwarf_aggregate_size(type, &size) || size != 8)
		return false;
	if (dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &enc))
		return false;
	return enc == DW_ATE_unsigned || enc == DW_ATE_signed;
}

/* What cannot be handed to the device: long double, complex, vectors. NULL: it can. */
static const char *bad_type(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word enc, size;
	bool sized = !dwarf_aggregate_size(type, &size);

	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		if (!sized || size > 8)
			return "a number of more than 8 bytes";
		if (!dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &enc) &&
		    enc == DW_ATE_complex_float)
			return "a complex number";
		return NULL;
	case DW_TAG_array_type:
		return "a vector";
	default:
		return NULL;
	}
}

static bool check_params(struct entry *e, Dwarf_Die *func)
{
	Dwarf_Die p, type;
	bool int64 = false;

	if (dwarf_child(func, &p))
		return true;
	do {
		const char *bad;

		if (dwarf_tag(&p) == DW_TAG_unspecified_parameters)
			return error(
				"%s: '%s' takes a variable number of arguments, which cannot be "
				"passed to the device",
				e->where, e->name);
		if (dwarf_tag(&p) != DW_TAG_formal_parameter || !type_of(&p, &type))
			continue;
		e->nargs++;
		bad = bad_type(&type);
		if (bad) {
			const char *name = dwarf_diename(&p);

			return error(
				"%s: parameter '%s' of '%s' is %s, which cannot be passed to the "
				"device",
				e->where, name ? name : "?", e->name, bad);
		}
		int64 = is_int64(&type);
	} while (!dwarf_siblingof(&p, &p));
	e->thread = e->ann == ANN_GLOBAL && e->nargs == 1 && int64;
	return true;
}

static bool check_func(struct entry *e, Dwarf_Die *func)
{
	Dwarf_Die type;
	bool returns = type_of(func, &type);

	e->found = true;
	if (e->ann == ANN_GLOBAL && returns)
		return error("%s: '%s' is __dpa_global__ and must return void", e->where, e->name);
	if (e->ann == ANN_RPC && (!returns || !is_int64(&type)))
		return error("%s: '%s' is __dpa_rpc__ and must return uint64_t", e->where, e->name);
	return check_params(e, func);
}

struct walk {
	struct entries *e;
	bool ok;
};

static int on_func(Dwarf_Die *func, void *arg)
{
	struct walk *w = arg;
	const char *name = dwarf_diename(func);
	Dwarf_Attribute attr;

	if (!name || !dwarf_attr_integrate(func, DW_AT_external, &attr))
		return DWARF_CB_OK;
	for (size_t i = 0; i < w->e->n; i++)
		if (!w->e->v[i].found && !strcmp(w->e->v[i].name, name))
			w->ok &= check_func(&w->e->v[i], func);
	return DWARF_CB_OK;
}

bool dwarf_check(const char *image, struct entries *e)
{
	struct walk w = {.e = e, .ok = true};
	int fd = open(image, O_RDONLY | O_CLOEXEC);
	Dwarf *dw = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	int ret = -1;

	while (dw && !(ret = dwarf_get_units(dw, cu, &cu, NULL, &type, &die, NULL)))
		if (type == DW_UT_compile)
			dwarf_getfuncs(&die, on_func, &w, 0);
	if (ret != 1)
		w.ok = error("%s: no debug information: %s", image, dwarf_errmsg(-1));
	dwarf_end(dw);
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; w.ok && i < e->n; i++)
		if (!e->v[i].found)
			w.ok = error("%s: no types for '%s': is -g0 among the device options?",
				     e->v[i].where, e->v[i].name);
	return w.ok;
}
