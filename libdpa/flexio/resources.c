/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * resources.c - the EUs of an application, from the text of a YAML file (flexio.h has the format).
 */
#include <libflexio/flexio.h>
#include <dpa/dpa_image.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>
#include "../common/log/log.h"
#include "../common/object/object.h"
#include "../eu/eumgmt.h"

#define TEXT_MAX 65536 /* bytes of a file */

const char *flexio_app_get_name(struct flexio_app *app)
{
	const struct doca_dpa_app *a = (const struct doca_dpa_app *)app;

	return a && a->magic == DPA_IMAGE_MAGIC ? a->name : NULL;
}

struct flexio_resource {
	uint32_t num_eus, num_eugs;
	uint32_t eus[DPA_EUMGMT_EUS];
	char eugs[DPA_EUMGMT_GROUPS][DPA_EUMGMT_NAME + 1];
};

/* State of the parsing. */
struct app {
	const char *key;
	bool found, has_eus, has_eugs;
	struct dpal_eu_set eus;
	struct flexio_resource *res;
};

#define FAIL(...) (DPA_LOG(DOCA_LOG_LEVEL_ERROR, "flexio_resources_create: " __VA_ARGS__), false)

static size_t node_line(const yaml_node_t *n)
{
	return n->start_mark.line + 1;
}

/* Return the text of a scalar; NULL: it is no scalar, or contains a NUL. */
static const char *node_text(const yaml_node_t *n)
{
	const char *text = n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;

	return text && strlen(text) == n->data.scalar.length ? text : NULL;
}

/* ------------------------------------------------------------------- lists */

typedef bool item_fn(struct app *app, const yaml_node_t *item);

static bool app_add_eus(struct app *app, const yaml_node_t *item)
{
	const char *text = node_text(item);
	struct dpal_eu_set set;

	if (!text || !dpal_eu_set_parse(text, DPA_EUMGMT_EUS, &set))
		return FAIL("line %zu: '%s' is no EU and no range of EUs: as in 6-8, each below %u",
			    node_line(item), text ? text : "", DPA_EUMGMT_EUS);
	for (size_t i = 0; i < DPA_EUMGMT_EUS / 64; i++)
		app->eus.bits[i] |= set.bits[i];
	return true;
}

static bool app_add_eug(struct app *app, const yaml_node_t *item)
{
	struct flexio_resource *res = app->res;
	const char *text = node_text(item);

	if (!text || !*text || strlen(text) > DPA_EUMGMT_NAME)
		return FAIL("line %zu: '%s' is no EU group: its name has not 1 to %u characters",
			    node_line(item), text ? text : "", DPA_EUMGMT_NAME);
	for (uint32_t i = 0; i < res->num_eugs; i++)
		if (!strcmp(res->eugs[i], text))
			return FAIL("line %zu: EU group '%s' is there twice", node_line(item),
				    text);
	if (res->num_eugs == DPA_EUMGMT_GROUPS)
		return FAIL("line %zu: more than %u EU groups", node_line(item), DPA_EUMGMT_GROUPS);
	strcpy(res->eugs[res->num_eugs++], text);
	return true;
}

/* Add one item, or a list of them. */
static bool app_add_items(struct app *app, yaml_document_t *doc, const yaml_node_t *value,
			  item_fn *add)
{
	if (value->type != YAML_SEQUENCE_NODE)
		return add(app, value);
	for (yaml_node_item_t *i = value->data.sequence.items.start;
	     i < value->data.sequence.items.top; i++)
		if (!add(app, yaml_document_get_node(doc, *i)))
			return false;
	return true;
}

/* ------------------------------------------------------------- application */

static bool app_add_key(struct app *app, yaml_document_t *doc, const yaml_node_t *key,
			const yaml_node_t *value)
{
	const char *text = node_text(key);
	bool eus = text && !strcasecmp(text, "EUs"), eugs = text && !strcasecmp(text, "EUGs");

	if ((eus && app->has_eus) || (eugs && app->has_eugs))
		return FAIL("line %zu: '%s' is there twice", node_line(key), text);
	app->has_eus |= eus;
	app->has_eugs |= eugs;
	if (eus)
		return app_add_items(app, doc, value, app_add_eus);
	if (eugs)
		return app_add_items(app, doc, value, app_add_eug);
	if (text && !strncasecmp(text, "eu", 2))
		return FAIL("line %zu: '%s' is not known: use EUs or EUGs", node_line(key), text);
	return true;
}

static bool app_take(struct app *app, yaml_document_t *doc, const yaml_node_t *value)
{
	if (app->found)
		return FAIL("line %zu: '%s' is there twice", node_line(value), app->key);
	app->found = true;
	if (value->type != YAML_MAPPING_NODE)
		return FAIL("line %zu: '%s' has no mapping: write EUs: below it", node_line(value),
			    app->key);
	for (yaml_node_pair_t *p = value->data.mapping.pairs.start;
	     p < value->data.mapping.pairs.top; p++)
		if (!app_add_key(app, doc, yaml_document_get_node(doc, p->key),
				 yaml_document_get_node(doc, p->value)))
			return false;
	if (!app->has_eus && !app->has_eugs)
		return FAIL("line %zu: '%s' has neither EUs nor EUGs", node_line(value), app->key);
	return true;
}

/* Check each mapping of the document: this handles aliases and any depth. */
static bool app_find(struct app *app, yaml_document_t *doc)
{
	for (yaml_node_t *n = doc->nodes.start; n < doc->nodes.top; n++) {
		if (n->type != YAML_MAPPING_NODE)
			continue;
		for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
		     p < n->data.mapping.pairs.top; p++) {
			const char *text = node_text(yaml_document_get_node(doc, p->key));

			if (text && !strcmp(text, app->key) &&
			    !app_take(app, doc, yaml_document_get_node(doc, p->value)))
				return false;
		}
	}
	return true;
}

/* Read all documents of the text. */
static bool app_read(struct app *app, yaml_parser_t *parser)
{
	for (;;) {
		yaml_document_t doc;
		bool ok, end;

		if (!yaml_parser_load(parser, &doc))
			return FAIL("line %zu: no YAML: %s", parser->problem_mark.line + 1,
				    parser->problem ? parser->problem : "no memory");
		end = !yaml_document_get_root_node(&doc);
		ok = end || app_find(app, &doc);
		yaml_document_delete(&doc);
		if (!ok)
			return false;
		if (end)
			return app->found || FAIL("there is no application '%s'", app->key);
	}
}

static void app_store(const struct app *app)
{
	struct flexio_resource *res = app->res;

	for (uint32_t eu = 0; eu < DPA_EUMGMT_EUS; eu++)
		if (dpal_eu_set_has(&app->eus, eu))
			res->eus[res->num_eus++] = eu;
}

/* --------------------------------------------------------------------- API */

static bool resource_live(const struct flexio_resource *res)
{
	return dpa_obj_is(res, DPA_T_FLEXIO_RESOURCE);
}

static bool resource_read(struct flexio_resource *res, const char *key, const char *text,
			  size_t size)
{
	struct app app = {.key = key, .res = res};
	yaml_parser_t parser;
	bool ok;

	if (!yaml_parser_initialize(&parser))
		return FAIL("no memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	ok = app_read(&app, &parser);
	yaml_parser_delete(&parser);
	if (ok)
		app_store(&app);
	return ok;
}

static bool resource_check(const char *key, const char *text, size_t size)
{
	if (!key || !*key || !text)
		return FAIL("no key or no text");
	if (!size || size > TEXT_MAX)
		return FAIL("%zu bytes of text: 1 to %u may be", size, TEXT_MAX);
	return true;
}

flexio_status flexio_resources_create(const char *app_key, const char *file_buffer,
				      size_t file_size, struct flexio_resource **res)
{
	struct flexio_resource *r;

	if (!res)
		return FLEXIO_STATUS_FAILED;
	*res = NULL;
	if (!resource_check(app_key, file_buffer, file_size))
		return FLEXIO_STATUS_FAILED;
	r = dpa_obj_new(DPA_T_FLEXIO_RESOURCE, sizeof(*r));
	if (!r)
		return FLEXIO_STATUS_FAILED;
	if (!resource_read(r, app_key, file_buffer, file_size)) {
		dpa_obj_free(r);
		return FLEXIO_STATUS_FAILED;
	}
	*res = r;
	return FLEXIO_STATUS_SUCCESS;
}

flexio_status flexio_resources_destroy(struct flexio_resource *res)
{
	if (!resource_live(res))
		return FLEXIO_STATUS_FAILED;
	dpa_obj_free(res);
	return FLEXIO_STATUS_SUCCESS;
}

uint32_t flexio_resources_get_eugs_num(struct flexio_resource *res)
{
	return resource_live(res) ? res->num_eugs : 0;
}

uint32_t flexio_resources_get_eus_num(struct flexio_resource *res)
{
	return resource_live(res) ? res->num_eus : 0;
}

uint32_t *flexio_resources_get_eus(struct flexio_resource *res)
{
	return resource_live(res) && res->num_eus ? res->eus : NULL;
}
