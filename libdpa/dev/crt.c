/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crt.c - the device library's calls: each goes through the table that libdpa sets, because an
 * image must not depend on a symbol of its process (with default visibility, functions of the host
 * with the same name would replace it).
 *
 * Memory that device code points to is read here, in the image, so that a bad pointer is a fault of
 * the image: elements of completion queues, formats and their arguments, work requests.
 */
#include <stdarg.h>
#include <doca_dpa_dev.h>
#include <dpa/dpa_dev_native.h>
#include <dpa/dpa_image.h>
#include <dpa_hw.h>
#include "format.h"

#define LOG_MESSAGE 1000
#define MAX_SGE	    DPA_MAX_SGE

/* dpacc's entry table refers to this variable. */
extern const struct dpa_dev_ops *__dpa_ops;
const struct dpa_dev_ops *__dpa_ops;

/* Leave an activation through the table; does not return. */
static _Noreturn void leave_kernel(uint32_t finish)
{
	__dpa_ops->end_activation(finish);
	__builtin_trap();
}

doca_dpa_dev_uintptr_t doca_dpa_dev_thread_get_local_storage(void)
{
	return __dpa_ops->get_local_storage();
}

void doca_dpa_dev_thread_reschedule(void)
{
	leave_kernel(0);
}

void doca_dpa_dev_thread_finish(void)
{
	leave_kernel(1);
}

void doca_dpa_dev_thread_notify(doca_dpa_dev_notification_completion_t comp_handle)
{
	__dpa_ops->thread_notify(comp_handle);
}

int doca_dpa_dev_get_completion(doca_dpa_dev_completion_t dpa_comp_handle,
				doca_dpa_dev_completion_element_t *comp_element)
{
	uint64_t e;
	int found = __dpa_ops->get_completion(dpa_comp_handle, &e);

	if (found)
		*comp_element = e;
	return found;
}

void doca_dpa_dev_completion_ack(doca_dpa_dev_completion_t dpa_comp_handle, uint64_t num_comp)
{
	__dpa_ops->completion_ack(dpa_comp_handle, num_comp);
}

void doca_dpa_dev_completion_request_notification(doca_dpa_dev_completion_t dpa_comp_handle)
{
	__dpa_ops->request_notification(dpa_comp_handle);
}

void doca_dpa_dev_log(doca_dpa_dev_log_level_t log_level, const char *format, ...)
{
	char text[LOG_MESSAGE];
	va_list ap;
	size_t n;

	va_start(ap, format);
	n = dpa_dev_format(text, sizeof(text), format, ap);
	va_end(ap);
	__dpa_ops->log((uint32_t)log_level, text, n);
}

static const struct dpa_cqe *element_cqe(doca_dpa_dev_completion_element_t e)
{
	return (const struct dpa_cqe *)(uintptr_t)e;
}

doca_dpa_dev_completion_type_t
doca_dpa_dev_get_completion_type(doca_dpa_dev_completion_element_t comp_element)
{
	const struct dpa_cqe *c = element_cqe(comp_element);

	if (!(c->opcode & DPA_CQE_RECV))
		return c->status ? DOCA_DPA_DEV_COMP_SEND_ERR : DOCA_DPA_DEV_COMP_SEND;
	if (c->status)
		return DOCA_DPA_DEV_COMP_RECV_ERR;
	if (c->opcode == DPA_CQE_RECV_RDMA_WITH_IMM)
		return DOCA_DPA_DEV_COMP_RECV_RDMA_WRITE_IMM;
	return c->flags & DPA_CQE_F_IMM ? DOCA_DPA_DEV_COMP_RECV_SEND_IMM
					: DOCA_DPA_DEV_COMP_RECV_SEND;
}

uint32_t doca_dpa_dev_get_completion_user_data(doca_dpa_dev_completion_element_t comp_element)
{
	return element_cqe(comp_element)->user_index;
}

/*
 * Return the immediate is in network order on the wire, in the WQE and in the CQE; no layer in
 * between converts it.
 */
uint32_t doca_dpa_dev_get_completion_immediate(doca_dpa_dev_completion_element_t comp_element)
{
	uint32_t v = element_cqe(comp_element)->imm;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

int dpa_dev_qp_post_send(dpa_dev_qp_t qp, const struct dpa_dev_send_wr *wr)
{
	struct dpa_dev_sge sge[MAX_SGE];
	struct dpa_dev_send_wr copy = *wr;

	if (copy.num_sge > MAX_SGE)
		return DPA_DEV_EINVAL;
	for (uint32_t i = 0; i < copy.num_sge; i++)
		sge[i] = copy.sg_list[i];
	copy.sg_list = sge;
	return __dpa_ops->qp_post_send(qp, &copy);
}

int dpa_dev_qp_post_recv(dpa_dev_qp_t qp, uint64_t wr_id, const struct dpa_dev_sge *sg_list,
			 uint32_t num_sge)
{
	struct dpa_dev_sge sge[MAX_SGE];

	if (num_sge > MAX_SGE)
		return DPA_DEV_EINVAL;
	for (uint32_t i = 0; i < num_sge; i++)
		sge[i] = sg_list[i];
	return __dpa_ops->qp_post_recv(qp, wr_id, sge, num_sge);
}

uint64_t dpa_dev_completion_wr_id(doca_dpa_dev_completion_element_t comp_element)
{
	return element_cqe(comp_element)->wr_id;
}

uint32_t dpa_dev_completion_qpn(doca_dpa_dev_completion_element_t comp_element)
{
	return element_cqe(comp_element)->qpn;
}

uint32_t dpa_dev_completion_byte_len(doca_dpa_dev_completion_element_t comp_element)
{
	return element_cqe(comp_element)->byte_len;
}

uint32_t dpa_dev_completion_status(doca_dpa_dev_completion_element_t comp_element)
{
	return dpa_cqe_wc_status(element_cqe(comp_element)->status);
}
