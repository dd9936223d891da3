/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * knobs.h - all settings of the device, in one table with their documentation.
 * A setting has one name: `placement` in the configuration file, DPA_PLACEMENT in the environment.
 * Order: built-in default, then the file, then the environment. An unknown setting or a bad value
 * is refused, never ignored: the message has its place and the fix.
 */
#ifndef DPA_KNOBS_H
#define DPA_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "faults.h"
#include "injects.h"
#include "links.h"

#define DPA_CONFIG_DEFAULT  "/etc/dpa/dpa.conf"
#define DPA_CONFIG_PATH_MAX 256
#define DPA_CONFIG_EUS	    256 /* EU numbers that eu:LIST can name: 0..255 */

enum dpa_cfg_placement { DPA_CFG_PLACE_AUTO, DPA_CFG_PLACE_INLINE, DPA_CFG_PLACE_EU };
enum dpa_cfg_pull { DPA_CFG_PULL_AUTO, DPA_CFG_PULL_NEVER };
enum dpa_cfg_direct { DPA_CFG_DIRECT_AUTO, DPA_CFG_DIRECT_NEVER };
enum dpa_cfg_ptracer { DPA_CFG_PTRACER_KERNEL, DPA_CFG_PTRACER_ANY };
enum dpa_cfg_share { DPA_CFG_SHARE_AUTO, DPA_CFG_SHARE_NEVER, DPA_CFG_SHARE_ALWAYS };
/* order of dpa_pcc_algos[] (device/pcc/pcc.h) */
enum dpa_cfg_near { DPA_CFG_NEAR_AUTO, DPA_CFG_NEAR_NEVER };
enum dpa_cfg_gid_order { /* see device/port/port.h */
			 DPA_CFG_GIDS_ADDRESSES,
			 DPA_CFG_GIDS_NO_LOOPBACK,
			 DPA_CFG_GIDS_ADAPTER,
};
enum dpa_cfg_layer { DPA_CFG_LAYER_ETHERNET, DPA_CFG_LAYER_INFINIBAND };
enum dpa_cfg_cma { DPA_CFG_CMA_KERNEL, DPA_CFG_CMA_DPA };
enum dpa_cfg_congestion { DPA_CFG_CONGESTION_DCQCN, DPA_CFG_CONGESTION_NONE };
/* values of enum dpa_log_level in dpa_hw.h */
enum dpa_cfg_log { DPA_CFG_LOG_ERR = 2, DPA_CFG_LOG_WARN, DPA_CFG_LOG_INFO, DPA_CFG_LOG_DEBUG };

struct dpa_cfg_place {
	enum dpa_cfg_placement kind;
	uint32_t num_eus; /* EUs in the set; 0: any EU */
	uint64_t eus[DPA_CONFIG_EUS / 64];
};

/*
 * Functions of the adapter instance beside dpa0, and the interface whose addresses each has ("":
 * all).
 */
#define DPA_CONFIG_SFS 7
struct dpa_cfg_functions {
	uint32_t num_sfs;
	char ifname[DPA_CONFIG_SFS][16];
};

/* The timeline of a process (docs/timeline.md), and the tool that gets it. */
enum dpa_cfg_timeline_mode { DPA_CFG_TIMELINE_OFF, DPA_CFG_TIMELINE_ON, DPA_CFG_TIMELINE_ALL };
#define DPA_CONFIG_TOOL_MAX 64
struct dpa_cfg_timeline {
	enum dpa_cfg_timeline_mode mode;
	char tool[DPA_CONFIG_TOOL_MAX]; /* abstract socket of its listener; "": none yet */
};

struct dpa_config {
	struct dpa_cfg_place placement;
	char interface[16]; /* interface whose addresses dpa0 has; "": all */
	struct dpa_cfg_functions functions;
	enum dpa_cfg_gid_order gid_order;
	enum dpa_cfg_layer link_layer;
	uint32_t port_speed; /* index of the word of the setting: dpa_cfg_speed() */
	bool disable;	     /* dpa0 is hidden from this process */
	bool blueflame;	     /* post by BlueFlame if a WQE fits */
	enum dpa_cfg_log log;
	enum dpa_cfg_pull pull;
	enum dpa_cfg_direct direct;
	enum dpa_cfg_ptracer ptracer;
	enum dpa_cfg_share share_mr;
	uint32_t share_region; /* MiB: the longest region that is shared under auto */
	uint32_t share_total;  /* MiB: of all of them */
	enum dpa_cfg_near near_link;
	enum dpa_cfg_congestion congestion;
	enum dpa_cfg_cma cm_prefer; /* device for an address of both dpa0 and a real device */
	uint32_t uar_pages;	    /* for adapter state that this process creates */
	uint32_t spin;		    /* pauses before a wait loop yields */
	uint32_t max_run_time;	    /* maximum seconds of a DPA activation; 0: no limit */
	char log_file[DPA_CONFIG_PATH_MAX];	/* "": nowhere */
	char board[DPA_CONFIG_PATH_MAX];	/* "": the default path */
	char capture[DPA_CONFIG_PATH_MAX];	/* "": no capture */
	char inject_calls[DPA_CONFIG_PATH_MAX]; /* "": nowhere */
	/* "IMAGE:KERNEL" of a kernel that gets copies of CQEs; "": none */
	char observer[DPA_CONFIG_PATH_MAX];
	struct dpa_cfg_timeline timeline;
	struct dpa_fault_spec fault;	  /* not set: as requested for the adapter instance */
	struct dpa_inject_spec inject;	  /* not set: as requested for the process */
	struct dpa_link_spec link;	  /* not set: as requested for the adapter instance */
	char config[DPA_CONFIG_PATH_MAX]; /* the file that was read, "" if there is none */
};

static inline bool dpa_cfg_place_has_eu(const struct dpa_cfg_place *p, uint32_t eu)
{
	return p->num_eus == 0 || (eu < DPA_CONFIG_EUS && (p->eus[eu / 64] >> (eu % 64) & 1));
}

/*
 * Return the interface of a function, 0 being dpa0; "": all. function: at most functions.num_sfs.
 */
static inline const char *dpa_cfg_interface(const struct dpa_config *cfg, uint32_t function)
{
	return function ? cfg->functions.ifname[function - 1] : cfg->interface;
}

/* A value of port_speed: two fields of ibv_port_attr, and the text of the sysfs file `rate`. */
struct dpa_speed {
	uint8_t width, speed;
	const char *rate; /* without newline */
};
const struct dpa_speed *dpa_cfg_speed(const struct dpa_config *cfg);

/* Return the LID of the port of a function; 0: the port has none. */
static inline uint16_t dpa_cfg_lid(const struct dpa_config *cfg, uint32_t function)
{
	return cfg->link_layer == DPA_CFG_LAYER_INFINIBAND ? (uint16_t)(function + 1) : 0;
}

/* True if the port of a function has this LID. */
static inline bool dpa_cfg_has_lid(const struct dpa_config *cfg, uint16_t lid)
{
	return lid && lid <= dpa_cfg_lid(cfg, cfg->functions.num_sfs);
}

enum dpa_knob_type {
	DPA_KNOB_BOOL,	 /* 0 or 1 */
	DPA_KNOB_UINT,	 /* min..max */
	DPA_KNOB_ENUM,	 /* one of the words, stored as an int from min on */
	DPA_KNOB_PATH,	 /* absolute */
	DPA_KNOB_PLACE,	 /* struct dpa_cfg_place */
	DPA_KNOB_FAULT,	 /* struct dpa_fault_spec */
	DPA_KNOB_INJECT, /* struct dpa_inject_spec */
	DPA_KNOB_LINK,	 /* struct dpa_link_spec */
	DPA_KNOB_FUNCS,	 /* struct dpa_cfg_functions */
	DPA_KNOB_IF,	 /* name of an interface */
	DPA_KNOB_TRACE,	 /* struct dpa_cfg_timeline */
};

struct dpa_knob {
	const char *name; /* in the file; DPA_ and capitals in the environment */
	const char *def;  /* in the user's form; "" means none and is only used as a default */
	enum dpa_knob_type type;
	bool env_only;	   /* not useful in the file */
	uint32_t min, max; /* UINT: bounds; ENUM: value of the first word */
	const char *words; /* ENUM: "a|b|c" */
	size_t offset;	   /* in struct dpa_config */
	const char *use;   /* the fix: valid values */
	const char *help;
};

extern const struct dpa_knob dpa_knobs[];
extern const size_t dpa_knobs_num;

/*
 * Fill cfg from the defaults, the file and the environment. Returns 0, or EINVAL with a one-line
 * message in err, also if the file cannot be read. A missing default file is no error, a missing
 * DPA_CONFIG is. A set-user-id program ignores the environment. Thread-safe as far as environ is.
 */
int dpa_config_load(struct dpa_config *cfg, char *err, size_t errlen);
/* The steps of it: defaults only; one file over the present values; the variables of env. */
void dpa_config_defaults(struct dpa_config *cfg);
int dpa_config_file(struct dpa_config *cfg, const char *path, char *err, size_t errlen);
int dpa_config_env(struct dpa_config *cfg, char *const *env, char *err, size_t errlen);

/* Parse off, on or all, perhaps with @TOOL. False: it is none of them; *out is unchanged. */
bool dpa_cfg_timeline_parse(const char *s, struct dpa_cfg_timeline *out);

/*
 * Write the environment variable of a setting ("DPA_PLACEMENT"), and its value in the user's form.
 */
void dpa_knob_env_name(const struct dpa_knob *k, char *buf, size_t len);
void dpa_knob_value(const struct dpa_knob *k, const struct dpa_config *cfg, char *buf, size_t len);
/* Parse one value into cfg. False: bad value. Case matters. */
bool dpa_knob_set(const struct dpa_knob *k, struct dpa_config *cfg, const char *value);

#endif
