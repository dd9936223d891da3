/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_addrinfo - the hints of rdma_getaddrinfo(3), each with the possible uses of its result.
 *
 *   dpa_addrinfo IPV4 IPV6    addresses of this host that the device has
 *
 * An active result becomes an endpoint whose address and route are resolved, a passive one becomes a
 * listener. One line a case. Exit status 1: a case failed.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <infiniband/sa.h>
#include <rdma/rdma_cma.h>

#define SERVICE	  "7500"
#define FAMILY_IB 27 /* AF_IB of librdmacm's own headers */

static const char *v4, *v6;
static int failures;

struct combination {
	const char *name;
	int qp_type, port_space; /* hints */
	int qp_type_is, port_space_is;
};

/*
 * rdma_getaddrinfo(3) and rdma_create_id(3): matching values, and the meaning of one of both alone.
 */
static const struct combination fits[] = {
	{"RC, TCP", IBV_QPT_RC, RDMA_PS_TCP, IBV_QPT_RC, RDMA_PS_TCP},
	{"RC", IBV_QPT_RC, 0, IBV_QPT_RC, RDMA_PS_TCP},
	{"TCP", 0, RDMA_PS_TCP, IBV_QPT_RC, RDMA_PS_TCP},
	{"UC, TCP", IBV_QPT_UC, RDMA_PS_TCP, IBV_QPT_UC, RDMA_PS_TCP},
	{"XRC initiator, TCP", IBV_QPT_XRC_SEND, RDMA_PS_TCP, IBV_QPT_XRC_SEND, RDMA_PS_TCP},
	{"XRC target, TCP", IBV_QPT_XRC_RECV, RDMA_PS_TCP, IBV_QPT_XRC_RECV, RDMA_PS_TCP},
	{"RC, IB", IBV_QPT_RC, RDMA_PS_IB, IBV_QPT_RC, RDMA_PS_IB},
	{"UD, UDP", IBV_QPT_UD, RDMA_PS_UDP, IBV_QPT_UD, RDMA_PS_UDP},
	{"UD", IBV_QPT_UD, 0, IBV_QPT_UD, RDMA_PS_UDP},
	{"UDP", 0, RDMA_PS_UDP, IBV_QPT_UD, RDMA_PS_UDP},
	{"UD, IPOIB", IBV_QPT_UD, RDMA_PS_IPOIB, IBV_QPT_UD, RDMA_PS_IPOIB},
	{"UD, IB", IBV_QPT_UD, RDMA_PS_IB, IBV_QPT_UD, RDMA_PS_IB},
};

static const struct combination misfits[] = {
	{"UD, TCP", IBV_QPT_UD, RDMA_PS_TCP, 0, 0},
	{"RC, UDP", IBV_QPT_RC, RDMA_PS_UDP, 0, 0},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void report(bool ok, const char *name, const char *what)
{
	printf("%s %s%s%s\n", ok ? "ok" : "not ok", name, what ? ": " : "", what ? what : "");
	failures += !ok;
}

static struct sockaddr_storage address(const char *ip)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	if (inet_pton(AF_INET, ip, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)atoi(SERVICE));
	} else if (inet_pton(AF_INET6, ip, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)atoi(SERVICE));
	}
	return ss;
}

static socklen_t length(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* Return whether a is the address ip. The port does not count. */
static bool is_address(const struct sockaddr *a, const char *ip)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, text, sizeof(text));
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, text,
			  sizeof(text));
	return !strcmp(text, ip);
}

static bool is_dpa(const struct rdma_cm_id *id)
{
	return id->verbs && !strcmp(ibv_get_device_name(id->verbs->device), "dpa0");
}

/* Use an active result. NULL: it works. */
static const char *use_active(struct rdma_addrinfo *rai, const char *peer, const char *src)
{
	const char *wrong = NULL;
	struct rdma_cm_id *id;

	if (rai->ai_flags & RAI_PASSIVE)
		return "it is passive";
	if (!is_address(rai->ai_dst_addr, peer))
		return "another destination";
	if (src ? !is_address(rai->ai_src_addr, src) : rai->ai_src_len != 0)
		return "another source";
	if (rai->ai_route_len || rai->ai_connect_len)
		return "a route or data without ibacm";
	if (rdma_create_ep(&id, rai, NULL, NULL))
		return strerror(errno);
	if (!is_dpa(id))
		wrong = "not on dpa0";
	else if (!is_address(rdma_get_peer_addr(id), peer))
		wrong = "its peer has another address";
	else if (!is_address(rdma_get_local_addr(id), src ? src : peer)) /* both are of this host */
		wrong = "it has another address";
	else if (id->route.num_paths != 1)
		wrong = "no path";
	rdma_destroy_ep(id);
	return wrong;
}

static const char *use_passive(struct rdma_addrinfo *rai, const char *own)
{
	const char *wrong = NULL;
	struct rdma_cm_id *id;

	if (!(rai->ai_flags & RAI_PASSIVE))
		return "it is active";
	if (rai->ai_dst_len)
		return "it has a destination";
	if (!is_address(rai->ai_src_addr, own))
		return "another address";
	if (rdma_create_ep(&id, rai, NULL, NULL))
		return strerror(errno);
	if (rdma_listen(id, 1))
		wrong = strerror(errno);
	else if (ntohs(rdma_get_src_port(id)) != atoi(SERVICE))
		wrong = "another port";
	rdma_destroy_ep(id);
	return wrong;
}

static bool has_types(const struct rdma_addrinfo *rai, const struct combination *c)
{
	return rai->ai_qp_type == c->qp_type_is && rai->ai_port_space == c->port_space_is;
}

static void try_combination(const struct combination *c, const char *ip, bool passive)
{
	const struct rdma_addrinfo hints = {.ai_flags = passive ? RAI_PASSIVE : 0,
					    .ai_qp_type = c->qp_type,
					    .ai_port_space = c->port_space};
	struct rdma_addrinfo *rai;
	const char *wrong;
	char name[128];

	snprintf(name, sizeof(name), "%s, %s %s", c->name, passive ? "passive" : "active", ip);
	if (rdma_getaddrinfo(ip, SERVICE, &hints, &rai)) {
		report(false, name, strerror(errno));
		return;
	}
	if (!has_types(rai, c))
		wrong = "another type or port space";
	else
		wrong = passive ? use_passive(rai, ip) : use_active(rai, ip, NULL);
	report(!wrong, name, wrong);
	rdma_freeaddrinfo(rai);
}

static void combinations(void)
{
	struct rdma_addrinfo *rai;

	for (size_t i = 0; i < COUNT(fits); i++)
		for (int k = 0; k < 4; k++)
			try_combination(&fits[i], k & 1 ? v6 : v4, k & 2);
	for (size_t i = 0; i < COUNT(misfits); i++) {
		const struct rdma_addrinfo hints = {.ai_qp_type = misfits[i].qp_type,
						    .ai_port_space = misfits[i].port_space};

		report(rdma_getaddrinfo(v4, SERVICE, &hints, &rai), misfits[i].name, "refused");
	}
}

/* Return a result for this node and these hints. NULL: none, errno is set. */
static struct rdma_addrinfo *ask(const char *node, const char *service,
				 const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *rai = NULL;

	return rdma_getaddrinfo(node, service, hints, &rai) ? NULL : rai;
}

static void active(const char *name, const char *node, const char *service,
		   const struct rdma_addrinfo *hints, const char *peer, const char *src)
{
	struct rdma_addrinfo *rai = ask(node, service, hints);
	const char *wrong = rai ? use_active(rai, peer, src) : "no result";

	report(!wrong, name, wrong);
	rdma_freeaddrinfo(rai);
}

static void passive(const char *name, const char *node, const char *service,
		    const struct rdma_addrinfo *hints, const char *own)
{
	struct rdma_addrinfo *rai = ask(node, service, hints);
	const char *wrong = rai ? use_passive(rai, own) : "no result";

	report(!wrong, name, wrong);
	rdma_freeaddrinfo(rai);
}

static void refused(const char *name, const char *node, const struct rdma_addrinfo *hints,
		    int error)
{
	struct rdma_addrinfo *rai = NULL;
	int ret = rdma_getaddrinfo(node, SERVICE, hints, &rai);

	/* librdmacm has had both: the code is the result, or in errno */
	report(ret == error || (ret == -1 && errno == error), name, ret ? NULL : "not refused");
	rdma_freeaddrinfo(rai);
}

static void flags(void)
{
	const struct rdma_addrinfo numeric = {.ai_flags = RAI_NUMERICHOST};
	const struct rdma_addrinfo no_route = {.ai_flags = RAI_NOROUTE,
					       .ai_port_space = RDMA_PS_TCP};
	const struct rdma_addrinfo in = {.ai_flags = RAI_FAMILY, .ai_family = AF_INET};
	const struct rdma_addrinfo in6 = {.ai_flags = RAI_FAMILY, .ai_family = AF_INET6};
	const struct rdma_addrinfo any = {.ai_flags = RAI_PASSIVE | RAI_FAMILY,
					  .ai_family = AF_INET,
					  .ai_port_space = RDMA_PS_TCP};
	const struct rdma_addrinfo any6 = {.ai_flags = RAI_PASSIVE | RAI_FAMILY,
					   .ai_family = AF_INET6,
					   .ai_port_space = RDMA_PS_TCP};

	active("no hints", v4, SERVICE, NULL, v4, NULL);
	active("no hints, IPv6", v6, SERVICE, NULL, v6, NULL);
	active("RAI_NUMERICHOST", v4, SERVICE, &numeric, v4, NULL);
	refused("RAI_NUMERICHOST, a name", "localhost", &numeric, EAI_NONAME);
	active("RAI_NOROUTE", v4, SERVICE, &no_route, v4, NULL);
	active("RAI_FAMILY, AF_INET", v4, SERVICE, &in, v4, NULL);
	active("RAI_FAMILY, AF_INET6", v6, SERVICE, &in6, v6, NULL);
	refused("RAI_FAMILY, AF_INET, an IPv6 address", v6, &in, EAI_ADDRFAMILY);
	refused("RAI_FAMILY, AF_INET6, an IPv4 address", v4, &in6, EAI_ADDRFAMILY);
	active("RAI_FAMILY, AF_INET, a name", "localhost", SERVICE, &in, "127.0.0.1", NULL);
	passive("RAI_PASSIVE, no node", NULL, SERVICE, &any, "0.0.0.0");
	passive("RAI_PASSIVE, no node, AF_INET6", NULL, SERVICE, &any6, "::");
}

/* Without a node the addresses are those of the hints. */
static void addresses(const char *ip)
{
	struct sockaddr_storage ss = address(ip);
	const struct rdma_addrinfo dst = {.ai_family = ss.ss_family,
					  .ai_qp_type = IBV_QPT_RC,
					  .ai_port_space = RDMA_PS_TCP,
					  .ai_dst_len = length(&ss),
					  .ai_dst_addr = (struct sockaddr *)&ss};
	struct sockaddr_storage own = ss;
	struct rdma_addrinfo src = dst, both = dst, listener = {0};
	char name[64];

	((struct sockaddr_in *)&own)->sin_port = 0; /* in sockaddr_in6, too */
	both.ai_src_len = length(&own);
	both.ai_src_addr = (struct sockaddr *)&own;
	src = both;
	src.ai_dst_len = 0;
	src.ai_dst_addr = NULL;
	listener = src;
	listener.ai_flags = RAI_PASSIVE;
	listener.ai_src_addr = (struct sockaddr *)&ss;
	snprintf(name, sizeof(name), "ai_dst_addr %s", ip);
	active(name, NULL, NULL, &dst, ip, NULL);
	snprintf(name, sizeof(name), "ai_src_addr and ai_dst_addr %s", ip);
	active(name, NULL, NULL, &both, ip, ip);
	snprintf(name, sizeof(name), "a node and ai_src_addr %s", ip);
	active(name, ip, SERVICE, &src, ip, ip);
	snprintf(name, sizeof(name), "RAI_PASSIVE and ai_src_addr %s", ip);
	passive(name, NULL, NULL, &listener, ip);
}

/* Only ibacm restricts routes; without it the route is resolved with the endpoint. */
static void routes(void)
{
	struct ibv_path_record record = {.reversible_numpath = 1};
	struct ibv_path_data data = {.path = record};
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP, .ai_route_len = sizeof(record), .ai_route = &record};

	active("ai_route: a path record", v4, SERVICE, &hints, v4, NULL);
	hints.ai_route_len = sizeof(data);
	hints.ai_route = &data;
	active("ai_route: path data", v4, SERVICE, &hints, v4, NULL);
}

/* AF_IB names ports of InfiniBand. A RoCE device has none, as with a kernel. */
static void infiniband(const char *name, int passively)
{
	const struct rdma_addrinfo hints = {.ai_flags = passively | RAI_NUMERICHOST | RAI_FAMILY,
					    .ai_family = FAMILY_IB,
					    .ai_qp_type = IBV_QPT_RC,
					    .ai_port_space = RDMA_PS_IB};
	struct rdma_addrinfo *rai = ask(v6, SERVICE, &hints);
	struct rdma_cm_id *id;

	if (!rai || rai->ai_family != FAMILY_IB)
		report(false, name, "no such address");
	else if (!rdma_create_ep(&id, rai, NULL, NULL))
		report(false, name, "the port is not InfiniBand's");
	else
		report(errno == ENODEV, name, strerror(errno));
	rdma_freeaddrinfo(rai);
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo *none;

	if (argc != 3) {
		fprintf(stderr, "usage: dpa_addrinfo IPV4 IPV6\n");
		return 2;
	}
	v4 = argv[1];
	v6 = argv[2];
	combinations();
	flags();
	addresses(v4);
	addresses(v6);
	routes();
	infiniband("AF_IB, active", 0);
	infiniband("AF_IB, passive", RAI_PASSIVE);
	report(rdma_getaddrinfo(NULL, NULL, NULL, &none) && errno == EINVAL, "nothing at all",
	       NULL);
	printf("%d failed\n", failures);
	return failures != 0;
}
