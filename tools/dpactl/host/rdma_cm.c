/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma_cm.c - the checks of doctor for rdma_cm: why ports cannot be bound, why requests are
 * refused.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <board/board.h>
#include <dpa_cm_port.h>
#include "doctor.h"

static void look_at_librdmacm(struct visit *v)
{
	void *dl = dlopen("librdmacm.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (dl) {
		dlclose(dl);
		say(v, OK, "librdmacm", NULL, "programs find one");
	} else {
		say(v, NOTE, "librdmacm", "install librdmacm1 (Debian) or librdmacm (Fedora)",
		    "there is none; only programs that use rdma_cm need it");
	}
}

/* Why a process of this user cannot claim a port. 0: it can. */
static int ports_error(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return access("/dev/shm", W_OK | X_OK) ? errno : 0;
	if (fd < 0)
		return errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		errno = EPROTO;
	else
		errno = 0;
	close(fd);
	return errno;
}

static void look_at_ports(struct visit *v)
{
	char path[128];
	int err = dpa_cm_ports_path(path, sizeof(path));

	if (!err)
		err = ports_error(path);
	if (!err)
		say(v, OK, "rdma_cm ports", NULL, "%s", path);
	else
		say(v, BAD, "rdma_cm ports",
		    "all users must be able to write /dev/shm; remove the file if it is there",
		    "%s: %s; rdma_bind_addr() fails", path, strerror(err));
}

/* A request is refused where nothing listens: shows the listeners. */
static void look_at_listeners(struct visit *v)
{
	struct dpa_board_cfg cfg = {.path = v->c->path, .lib_version = DPA_VERSION};
	struct ctl c = *v->c;
	char text[512], err[512];

	if (dpa_board_peek(&cfg, &c.b, err, sizeof(err)))
		text[0] = '\0';
	else {
		cm_listeners(&c, text, sizeof(text));
		dpa_board_unpeek(c.b);
	}
	if (text[0])
		say(v, OK, "rdma_cm", NULL,
		    "listening: %s; a request to another port is refused (REJECTED, error 8)",
		    text);
	else
		say(v, OK, "rdma_cm", NULL,
		    "no process of this user listens: requests are refused (REJECTED, error 8)");
}

void look_at_rdma_cm(struct visit *v)
{
	look_at_librdmacm(v);
	look_at_ports(v);
	look_at_listeners(v);
}
