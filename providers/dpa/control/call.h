/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * call.h - common to all control verbs, which behave as if a system call carried them out:
 *
 * - errno is set if the verb fails, to the value that an int verb returns, and unchanged otherwise;
 * - every object that it names is looked up by address and handle in the table of its context:
 *   ENOENT if the application changed one of its `handle` and `context` (handles.h).
 *
 * In a forked child (dpa.h) no table is read: verbs fail there by themselves, and verbs that
 * destroy free memory.
 *
 * - it may be asked to fail (docs/inject.md), after the look-ups and before anything is changed;
 *
 * A verb is one of CALL, MAKE, END; the _BARE ones are for objects without a public handle.
 */
#ifndef DPA_CALL_H
#define DPA_CALL_H

#include <knobs.h>
#include "control/control.h"

static inline struct dpav_handles *call_handles(struct ibv_context *context)
{
	return &to_dpa_ctx(context)->handles;
}

/* ---------------------------------------------------------------- look-ups */

/* EIO: the device has failed, and the kernel would refuse every command. */
static inline int device_gone(struct ibv_context *context)
{
	return dpa_is_fatal(to_dpa_ctx(context)) ? EIO : 0;
}

static inline int find_handle(struct ibv_context *context, const void *obj, uint32_t handle)
{
	if (!dpa_alive(context))
		return 0;
	return device_gone(context) ?: dpav_handles_find(call_handles(context), obj, handle);
}

/* The object on which a verb is called, in the context that it names. */
#define ON(obj)	     find_handle((obj)->context, (obj), (obj)->handle)
#define ON_BARE(obj) find_handle((obj)->context, (obj), 0) /* a kind without a public handle */

/*
 * Another object that the verb names. If it is of another context or NULL the verb itself decides:
 * verbs differ in what they accept.
 */
#define WITH(c, obj)	  ((obj) && (obj)->context == (c) ? ON(obj) : 0)
#define WITH_BARE(c, obj) ((obj) && (obj)->context == (c) ? ON_BARE(obj) : 0)

/* ------------------------------------------------------- injected failures */

/*
 * The result of the look-ups, or else the errno that the verb shall fail with, or 0. func: dpa_ctl_X
 * of the verb X. The rest: what rules may select it by (struct dpa_hw_call).
 */
static inline int may_call(int first, const char *func, uint64_t size, uint32_t qpn, int to)
{
	if (first || !dpa_hw_injecting(DPA_INJECT_CALL))
		return first;
	return dpav_injected(func + sizeof("dpa_ctl_") - 1, size, qpn, to);
}
#define MAY_CALL(first)		    may_call((first), __func__, 0, 0, DPA_INJECT_ANY)
#define MAY_CALL_SIZED(first, size) may_call((first), __func__, (size), 0, DPA_INJECT_ANY)
#define MAY_CALL_QP(first, qp, to)  may_call((first), __func__, 0, (qp)->qp_num, (to))

static inline int call_ends(int was, int ret)
{
	errno = ret ? ret : was;
	return ret;
}

/* ------------------------------------------------------------ kinds of verbs */

/* A verb that returns 0 or an errno. `first`: result of its look-ups. */
#define CALL(first, call) CALL_ASKED(MAY_CALL(first), call)
/* The same after the result of MAY_CALL*(). */
#define CALL_ASKED(first, call)                                                                    \
	do {                                                                                       \
		int was_ = errno, ret_ = (first);                                                  \
                                                                                                   \
		return call_ends(was_, ret_ ? ret_ : (call));                                      \
	} while (0)

/*
 * Device memory can be allocated in a forked child: the verb itself decides whether it fails there.
 */
static inline int may_make(struct ibv_context *context, int first)
{
	if (first)
		return first;
	if (!dpa_alive(context))
		return 0;
	return device_gone(context) ?: dpav_handles_reserve(call_handles(context));
}

/* `was`: errno at the call. */
static inline void *call_made(struct ibv_context *context, void *obj, uint32_t handle, int was)
{
	int err = errno;

	if (!dpa_alive(context)) {
		/* no table */
	} else if (obj) {
		dpav_handles_add(call_handles(context), obj, handle);
	} else {
		dpav_handles_unreserve(call_handles(context));
	}
	errno = obj ? was : err;
	return obj;
}

/* A verb that creates an object, or returns NULL and sets errno. */
#define MAKE_AS(type, c, first, call, number)                                                      \
	do {                                                                                       \
		struct ibv_context *c_ = (c);                                                      \
		int was_ = errno, ret_ = may_make(c_, (first));                                    \
		type *obj_;                                                                        \
                                                                                                   \
		if (ret_)                                                                          \
			return dpa_null(ret_);                                                     \
		obj_ = (call);                                                                     \
		return call_made(c_, obj_, obj_ ? (number) : 0, was_);                             \
	} while (0)
#define MAKE(type, c, first, call)	 MAKE_AS(type, c, MAY_CALL(first), call, obj_->handle)
#define MAKE_ASKED(type, c, first, call) MAKE_AS(type, c, first, call, obj_->handle)
#define MAKE_BARE(type, c, first, call)	 MAKE_AS(type, c, MAY_CALL(first), call, 0)

/*
 * After a failure of the device, too, rdma-core reports EIO and keeps the object, unless the program asked
 * by RDMAV_ALLOW_DISASSOC_DESTROY that destroying succeeds.
 */
static inline int may_end(struct ibv_context *context, const void *obj, uint32_t handle)
{
	if (!dpa_alive(context))
		return 0;
	if (device_gone(context) && !dpav_may_destroy_gone())
		return EIO;
	return dpav_handles_take(call_handles(context), obj, handle);
}

/* A verb that failed leaves the object in the table. */
static inline int call_ended(struct ibv_context *context, const void *obj, uint32_t handle, int was,
			     int ret)
{
	if (!dpa_alive(context))
		return call_ends(was, ret);
	if (ret)
		dpav_handles_add(call_handles(context), obj, handle);
	else
		dpav_handles_unreserve(call_handles(context));
	return call_ends(was, ret);
}

/* A verb that frees an object: removes it from the table before its memory can be reused. */
#define END_AS(obj, number, asked, call)                                                           \
	do {                                                                                       \
		struct ibv_context *c_ = (obj)->context;                                           \
		const void *obj_ = (obj);                                                          \
		uint32_t number_ = (number);                                                       \
		int was_ = errno, ret_ = (asked);                                                  \
                                                                                                   \
		ret_ = ret_ ? ret_ : may_end(c_, obj_, number_);                                   \
		return ret_ ? call_ends(was_, ret_) : call_ended(c_, obj_, number_, was_, (call)); \
	} while (0)
#define END(obj, call)		    END_AS(obj, (obj)->handle, MAY_CALL(0), call)
#define END_ASKED(obj, asked, call) END_AS(obj, (obj)->handle, asked, call)
#define END_BARE(obj, call)	    END_AS(obj, 0, MAY_CALL(0), call)

/* The same for verbs without a result: after a changed handle they do nothing. */
#define UNIMPORT(obj, call)                                                                        \
	do {                                                                                       \
		struct ibv_context *c_ = (obj)->context;                                           \
		const void *obj_ = (obj);                                                          \
		int was_ = errno, ret_ = may_end(c_, obj_, (obj)->handle);                         \
                                                                                                   \
		if (!ret_) {                                                                       \
			call;                                                                      \
			call_ended(c_, obj_, 0, was_, 0);                                          \
		}                                                                                  \
		errno = was_;                                                                      \
	} while (0)

#endif
