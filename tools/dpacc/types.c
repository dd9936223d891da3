/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * types.c - C types that are passed like those that the debug information describes.
 *
 * The way a value is passed depends on its size, its alignment and the types at its offsets, not on
 * names. So a structure is written again without its names, each member at its offset: neither the
 * host's stubs nor the image's callers need the headers of the device source.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "types.h"

#define MAX_ALIGN 64u /* for the memory of the arguments, see dpa_image.h */

static const char *const ints[2][4] = {
	{"__UINT8_TYPE__", "__UINT16_TYPE__", "__UINT32_TYPE__", "__UINT64_TYPE__"},
	{"__INT8_TYPE__", "__INT16_TYPE__", "__INT32_TYPE__", "__INT64_TYPE__"},
};

static bool cannot_convert(struct ctype *t, const char *why)
{
	t->why = why;
	return false;
}

static bool attr_number(Dwarf_Die *die, unsigned name, Dwarf_Word *value)
{
	Dwarf_Attribute attr;

	return !dwarf_formudata(dwarf_attr_integrate(die, name, &attr), value);
}

/* Return the type of a die without typedefs and qualifiers, and the alignment that they require. */
static bool peel_type(Dwarf_Die *die, Dwarf_Die *type, uint64_t *align)
{
	Dwarf_Attribute attr;
	Dwarf_Word a;

	if (attr_number(die, DW_AT_alignment, &a) && a > *align)
		*align = a;
	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), type))
		return false;
	switch (dwarf_tag(type)) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		*die = *type;
		return peel_type(die, type, align);
	default:
		return true;
	}
}

static bool set_integer(struct ctype *t, uint64_t size, bool is_signed)
{
	unsigned log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;

	if (size > 8)
		return cannot_convert(t, "a number of more than 8 bytes");
	t->name = must(strdup(ints[is_signed][log]));
	t->promoted = size < 4 ? "int" : ints[is_signed][log];
	t->size = t->align = size;
	t->int64 = size == 8;
	t->word = size >= 4;
	return true;
}

static bool convert_base(Dwarf_Die *die, struct ctype *t)
{
	Dwarf_Word size = 0, enc = 0;

	attr_number(die, DW_AT_byte_size, &size);
	attr_number(die, DW_AT_encoding, &enc);
	switch (enc) {
	case DW_ATE_boolean:
		if (size != 1)
			return set_integer(t, size, false);
		t->name = must(strdup("_Bool"));
		t->promoted = "int";
		t->size = t->align = 1;
		return true;
	case DW_ATE_float:
		if (size != 4 && size != 8)
			return cannot_convert(t, size > 8 ? "a number of more than 8 bytes"
							  : "a floating-point number of 2 bytes");
		t->name = must(strdup(size == 4 ? "float" : "double"));
		t->promoted = "double";
		t->size = t->align = size;
		return true;
	case DW_ATE_complex_float:
		return cannot_convert(t, "a complex number");
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return set_integer(t, size, true);
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		return set_integer(t, size, false);
	default:
		return cannot_convert(t, "a kind of number that dpacc does not support");
	}
}

static bool convert_enum(Dwarf_Die *die, struct ctype *t)
{
	Dwarf_Word size = 4, enc = 0;
	Dwarf_Die of, at = *die;
	uint64_t align = 0;

	attr_number(die, DW_AT_byte_size, &size);
	if (!attr_number(die, DW_AT_encoding, &enc) && peel_type(&at, &of, &align))
		attr_number(&of, DW_AT_encoding, &enc);
	return set_integer(t, size, enc == DW_ATE_signed || enc == DW_ATE_signed_char);
}

/*
 * most: the largest alignment that the position of the type allows. Debug information does not
 * record which structures are packed; a structure at an offset that its members' alignment does not
 * allow is packed.
 */
static bool convert_type(struct types *all, Dwarf_Die *type, uint64_t most, struct ctype *t);

/* Write the next name, with its definition so far in all->out. */
static void define_type(struct types *all, struct ctype *t)
{
	t->name = strf("__dpacc_t%zu", all->count++);
	t->promoted = NULL;
}

static bool array_dimension(Dwarf_Die *range, uint64_t *n)
{
	Dwarf_Word v;

	*n = 0;
	if (attr_number(range, DW_AT_count, &v) && v != UINT64_MAX)
		*n = v;
	else if (attr_number(range, DW_AT_upper_bound, &v))
		*n = v + 1;
	return *n != 0;
}

/* [2][3] is 2 of 3: the element times the product behaves in the same way. */
static bool convert_array(struct types *all, Dwarf_Die *die, uint64_t most, struct ctype *t)
{
	Dwarf_Attribute attr;
	Dwarf_Die child, of, at = *die;
	uint64_t total = 1, n, align = 0;
	struct ctype element = {0};

	if (dwarf_attr(die, DW_AT_GNU_vector, &attr))
		return cannot_convert(t, "a vector");
	if (dwarf_child(die, &child))
		return cannot_convert(t, "an array of unknown size");
	do {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!array_dimension(&child, &n))
			return cannot_convert(t, "an array without a fixed size");
		total *= n;
	} while (!dwarf_siblingof(&child, &child));
	if (!peel_type(&at, &of, &align) || !convert_type(all, &of, most, &element)) {
		t->inside = true;
		return cannot_convert(t, element.why ? element.why : "something of unknown type");
	}
	define_type(all, t);
	t->size = element.size * total;
	t->align = element.align;
	fprintf(all->out, "typedef %s %s[%llu];\n", element.name, t->name,
		(unsigned long long)total);
	free(element.name);
	return true;
}

struct member {
	struct ctype type;
	uint64_t bit;	/* offset */
	uint64_t width; /* bits of a bit-field; 0: none */
	uint64_t align; /* given alignment */
};

struct members {
	struct member *v;
	size_t n;
};

static bool convert_member(struct types *all, Dwarf_Die *die, uint64_t most, struct members *ms,
			   const char **why)
{
	Dwarf_Die at = *die, type;
	Dwarf_Word v = 0;
	struct member m = {0};

	if (attr_number(die, DW_AT_data_member_location, &v))
		m.bit = v * 8;
	if (v)
		most = most < (v & -v) ? most : v & -v;
	if (!peel_type(&at, &type, &m.align) || !convert_type(all, &type, most, &m.type)) {
		*why = m.type.why ? m.type.why : "something of unknown type";
		return false;
	}
	if (attr_number(die, DW_AT_bit_size, &v))
		m.width = v;
	if (attr_number(die, DW_AT_data_bit_offset, &v))
		m.bit = v;
	else if (attr_number(die, DW_AT_bit_offset, &v)) /* counted from the other end: clang */
		m.bit += m.type.size * 8 - v - m.width;
	ms->v = must(realloc(ms->v, (ms->n + 1) * sizeof(*ms->v)));
	ms->v[ms->n++] = m;
	return true;
}

static void members_free(struct members *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		free(ms->v[i].type.name);
	free(ms->v);
}

static bool convert_members(struct types *all, Dwarf_Die *die, uint64_t most, struct members *ms,
			    const char **why)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return true;
	do {
		if (dwarf_tag(&child) == DW_TAG_member &&
		    !convert_member(all, &child, most, ms, why))
			return false;
	} while (!dwarf_siblingof(&child, &child));
	return true;
}

/*
 * Return the alignment that the compiler must have used: debug information has it only where the
 * source has.
 */
static uint64_t struct_alignment(Dwarf_Die *die, const struct members *ms, uint64_t size,
				 uint64_t most)
{
	uint64_t align = 1;
	Dwarf_Word v;

	for (size_t i = 0; i < ms->n; i++) {
		const struct member *m = &ms->v[i];
		uint64_t a = m->align > m->type.align ? m->align : m->type.align;

		if ((m->width || m->bit % (a * 8) == 0) && a > align)
			align = a;
	}
	align = align > most ? most : align;
	if (attr_number(die, DW_AT_alignment, &v))
		align = v > align ? v : align;
	while (size % align)
		align /= 2;
	return align;
}

static void emit_fill(FILE *f, uint64_t from, uint64_t to)
{
	for (uint64_t bits = to - from, n; bits; bits -= n) {
		n = bits < 64 ? bits : 64;
		fprintf(f, " __UINT64_TYPE__ : %llu;", (unsigned long long)n);
	}
}

/*
 * Write padding that moves a member to `to` when the previous one ended at `from` (bits): an
 * alignment, because gcc counts unnamed bit-fields as integers and clang does not. Unnamed
 * bit-fields are the last resort: then the source had them too. No alignment is above `most`, which
 * is that of the whole structure.
 */
static uint64_t emit_gap(FILE *f, uint64_t from, uint64_t to, uint64_t most)
{
	if (from == to)
		return 0;
	for (uint64_t align = 1; align <= most; align *= 2)
		if ((from + align * 8 - 1) / (align * 8) * (align * 8) == to)
			return align;
	emit_fill(f, from, to);
	return 0;
}

/*
 * Write padding up to the end, if no alignment produces it: then the source had an unnamed
 * bit-field too.
 */
static void write_end(FILE *f, bool is_union, uint64_t at, const struct ctype *t)
{
	uint64_t unit = t->align * 8;

	if ((at + unit - 1) / unit * unit != t->size * 8)
		emit_fill(f, is_union ? 0 : at, t->size * 8);
}

static void write_members(FILE *f, const struct members *ms, bool is_union, const struct ctype *t)
{
	uint64_t at = 0, end;

	for (size_t i = 0; i < ms->n; i++) {
		const struct member *m = &ms->v[i];
		uint64_t align = is_union ? 0 : emit_gap(f, at, m->bit, t->align);

		fprintf(f, " %s m%zu", m->type.name, i);
		if (m->width)
			fprintf(f, " : %llu", (unsigned long long)m->width);
		if (align)
			fprintf(f, " __attribute__((aligned(%llu)))", (unsigned long long)align);
		fputc(';', f);
		end = m->bit + (m->width ? m->width : m->type.size * 8);
		at = is_union && end < at ? at : end;
	}
	write_end(f, is_union, at, t);
}

/* Write assertions for the offsets above: a compiler that differs fails there. */
static void write_checks(FILE *f, const struct members *ms, const struct ctype *t)
{
	fprintf(f, "_Static_assert(sizeof(%s) == %llu && _Alignof(%s) == %llu, \"\");\n", t->name,
		(unsigned long long)t->size, t->name, (unsigned long long)t->align);
	for (size_t i = 0; i < ms->n; i++)
		if (!ms->v[i].width)
			fprintf(f, "_Static_assert(__builtin_offsetof(%s, m%zu) == %llu, \"\");\n",
				t->name, i, (unsigned long long)ms->v[i].bit / 8);
}

/*
 * Return whether members come in the order of their offsets; if not, the structure is not
 * understood.
 */
static bool in_order(const struct members *ms, bool is_union, uint64_t size)
{
	uint64_t at = 0;

	for (size_t i = 0; i < ms->n; i++) {
		const struct member *m = &ms->v[i];

		if (is_union ? m->bit : m->bit < at)
			return false;
		at = m->bit + (m->width ? m->width : m->type.size * 8);
		if (at > size * 8)
			return false;
	}
	return true;
}

static bool convert_aggregate(struct types *all, Dwarf_Die *die, uint64_t most, struct ctype *t)
{
	bool is_union = dwarf_tag(die) == DW_TAG_union_type;
	struct members ms = {0};
	Dwarf_Word size = 0;

	attr_number(die, DW_AT_byte_size, &size);
	if (!size)
		return cannot_convert(t, "an empty or incomplete structure");
	if (!convert_members(all, die, most, &ms, &t->why)) {
		t->inside = true;
		members_free(&ms);
		return false;
	}
	t->size = size;
	t->align = struct_alignment(die, &ms, size, most);
	if (t->align > MAX_ALIGN)
		cannot_convert(t, "a structure that is aligned to more than 64 bytes");
	else if (!in_order(&ms, is_union, size))
		cannot_convert(t, "a structure whose layout dpacc does not support");
	if (!t->why) {
		define_type(all, t);
		fprintf(all->out, "typedef %s __attribute__((packed, aligned(%llu))) {",
			is_union ? "union" : "struct", (unsigned long long)t->align);
		write_members(all->out, &ms, is_union, t);
		fprintf(all->out, " } %s;\n", t->name);
		write_checks(all->out, &ms, t);
	}
	members_free(&ms);
	return !t->why;
}

static bool convert_type(struct types *all, Dwarf_Die *type, uint64_t most, struct ctype *t)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		return convert_base(type, t);
	case DW_TAG_enumeration_type:
		return convert_enum(type, t);
	case DW_TAG_pointer_type:
		t->name = must(strdup("void *"));
		t->promoted = "void *";
		t->size = t->align = sizeof(void *);
		t->word = true;
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return convert_aggregate(all, type, most, t);
	case DW_TAG_array_type:
		return convert_array(all, type, most, t);
	default:
		return cannot_convert(t, "of a kind that dpacc does not support");
	}
}

bool types_of(struct types *all, Dwarf_Die *die, struct ctype *t)
{
	Dwarf_Die at = *die, type;
	uint64_t align = 0;

	*t = (struct ctype){0};
	if (!peel_type(&at, &type, &align))
		return cannot_convert(t, NULL);
	return convert_type(all, &type, UINT64_MAX, t);
}

void types_begin(struct types *all)
{
	all->out = must(open_memstream(&all->text, &all->length));
}

const char *types_text(struct types *all)
{
	fflush(all->out);
	return all->text;
}

void types_end(struct types *all)
{
	if (all->out)
		fclose(all->out);
	free(all->text);
}
