/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * screen.c - dpactl top in a terminal, with ncurses: a table of processes, QPs or EUs, a selected row,
 * the page of a QP. It ends by q, by a signal, and when its terminal is closed.
 */
#include <ctype.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include "top.h"

#define HEAD   3 /* lines above the table, the empty one included */
#define ESCAPE 27

struct screen {
	struct top *t;
	SCREEN *term;
	struct table table;
	uint32_t at, first; /* the selected row, the first one shown */
	uint32_t qpn;	    /* of the page; 0: a table is shown */
	bool editing;	    /* the filter */
	bool help;
};

static const char *const help[] = {
	"1 2 3      processes, QPs, EUs; Tab: the next of them",
	"Enter      the page of a QP; Escape: back",
	"m b a n w i  sort by messages, bytes, sent again, RNR, waiting, id",
	"r          the other way round",
	"/          show rows with a text only (program, PID, QPN, state); Enter ends it",
	"up down, PgUp PgDn, Home End   select a row",
	"q, Ctrl-C  end",
	"",
	"OUT, IN    messages and bytes per second that the QP sent, and that arrived",
	"AGAIN      PSNs that were sent again; RNR: NAKs because of a missing receive",
	"WAIT       acks: of the peer; room: in the ring; timer: of a retry; !: an error",
	"THREAD     POLLS: the program does; WAITS: for an event; SLEEPS: nothing to do",
};

/* Rows of the table that the window has room for. */
static uint32_t window_rows(void)
{
	return LINES > HEAD + 2 ? (uint32_t)(LINES - HEAD - 2) : 0;
}

static void put_screen_line(int y, const char *text)
{
	if (y < 0 || y >= LINES)
		return;
	mvaddnstr(y, 0, text, COLS);
	clrtoeol();
}

static void put_marked(int y, const char *text)
{
	attron(A_REVERSE);
	put_screen_line(y, text);
	if (y < LINES)
		mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
	attroff(A_REVERSE);
}

/* Keeps the selected row among the rows, and in the window. */
static void settle_selected_row(struct screen *s)
{
	if (s->at >= s->table.n)
		s->at = s->table.n ? s->table.n - 1 : 0;
	if (s->at < s->first)
		s->first = s->at;
	if (window_rows() && s->at >= s->first + window_rows())
		s->first = s->at - window_rows() + 1;
}

static void draw_rows(struct screen *s, bool mark)
{
	settle_selected_row(s);
	for (uint32_t i = 0; i < window_rows(); i++) {
		const uint32_t row = s->first + i;
		const int y = HEAD + 1 + (int)i;

		if (row >= s->table.n)
			put_screen_line(y, "");
		else if (mark && row == s->at)
			put_marked(y, s->table.row[row]);
		else
			put_screen_line(y, s->table.row[row]);
	}
}

static void draw_foot(const struct screen *s)
{
	const struct table_how *how = &s->t->how;
	char text[TABLE_LINE];

	if (s->editing)
		snprintf(text, sizeof(text), "show rows with: %s_", how->filter);
	else if (s->qpn || s->help)
		snprintf(text, sizeof(text), "Escape: back");
	else
		snprintf(text, sizeof(text), "%s by %s%s%s%s%s  h: help  q: quit",
			 table_name(how->kind), table_key_name(how->key),
			 how->reverse ? ", reversed" : "", how->filter[0] ? "; with '" : "",
			 how->filter, how->filter[0] ? "'" : "");
	put_screen_line(LINES - 1, text);
}

static void draw_help(void)
{
	for (uint32_t i = 0; i < window_rows(); i++)
		put_screen_line(HEAD + 1 + (int)i,
				i < sizeof(help) / sizeof(help[0]) ? help[i] : "");
}

static void make_screen_table(struct screen *s)
{
	const struct live_qp *q = s->qpn ? live_find(&s->t->live, s->qpn) : NULL;

	table_free(&s->table);
	s->t->how.width = COLS;
	if (q) {
		table_page(&s->table, &s->t->live, q);
	} else if (s->qpn) {
		s->table = (struct table){.n = 0};
		snprintf(s->table.head, sizeof(s->table.head), "QP %06x is gone", s->qpn);
	} else {
		table_make(&s->table, &s->t->live, &s->t->how);
	}
}

static void draw_screen(struct screen *s)
{
	char line[2][TABLE_LINE];

	make_screen_table(s);
	table_summary(&s->t->live, line);
	put_screen_line(0, line[0]);
	put_screen_line(1, line[1]);
	put_screen_line(2, "");
	put_marked(HEAD, s->help ? "keys and columns" : s->table.head);
	if (s->help)
		draw_help();
	else
		draw_rows(s, !s->qpn);
	draw_foot(s);
	refresh();
}

/* ------------------------------------------------------------------------- keys */

static void edit_filter(struct screen *s, int key)
{
	char *text = s->t->how.filter;
	const size_t n = strlen(text);

	if (key == '\n' || key == KEY_ENTER || key == ESCAPE) {
		s->editing = false;
		if (key == ESCAPE)
			text[0] = '\0';
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		text[n ? n - 1 : 0] = '\0';
	} else if (key < 128 && isprint(key) && n + 1 < sizeof(s->t->how.filter)) {
		text[n] = (char)key;
		text[n + 1] = '\0';
	}
	s->at = s->first = 0;
}

static void show_kind(struct screen *s, int kind)
{
	s->t->how.kind = (enum table_kind)(kind % TABLE_KINDS);
	s->qpn = s->at = s->first = 0;
	s->help = false;
}

static void move_to(struct screen *s, int key)
{
	const uint32_t page = window_rows() ? window_rows() : 1,
		       last = s->table.n ? s->table.n - 1 : 0;

	switch (key) {
	case KEY_UP:
		s->at -= s->at > 0;
		return;
	case KEY_DOWN:
		s->at++;
		return;
	case KEY_PPAGE:
		s->at -= s->at < page ? s->at : page;
		return;
	case KEY_NPAGE:
		s->at += page;
		return;
	case KEY_HOME:
		s->at = 0;
		return;
	case KEY_END:
		s->at = last;
		return;
	default:
		return;
	}
}

/* True: a key of the sort order. */
static bool sort_by(struct screen *s, int key)
{
	static const char of[KEYS + 1] = "mbanwi";
	const char *at = key > 0 && key < 128 ? strchr(of, key) : NULL;

	if (at)
		s->t->how.key = (enum table_key)(at - of);
	return at;
}

static void open_qp_page(struct screen *s)
{
	if (s->t->how.kind == TABLE_QPS && !s->qpn && s->at < s->table.n)
		s->qpn = s->t->live.qp[s->table.of[s->at]].q.i.qpn;
}

/* False: end. */
static bool obey_key(struct screen *s, int key)
{
	if (s->editing) {
		edit_filter(s, key);
		return true;
	}
	switch (key) {
	case 'q':
	case 3: /* Ctrl-C of a terminal that sends no signal */
		return false;
	case '1':
	case '2':
	case '3':
		show_kind(s, key - '1');
		return true;
	case '\t':
		show_kind(s, (int)s->t->how.kind + 1);
		return true;
	case '\n':
	case KEY_ENTER:
		open_qp_page(s);
		return true;
	case ESCAPE:
		s->qpn = 0;
		s->help = false;
		return true;
	case 'h':
	case '?':
		s->help = !s->help;
		return true;
	case '/':
		s->editing = true;
		s->qpn = 0;
		return true;
	case 'r':
		s->t->how.reverse = !s->t->how.reverse;
		return true;
	default:
		if (!sort_by(s, key))
			move_to(s, key);
		return true;
	}
}

/*
 * Keys until the next reading is due. False: end. A terminal that is gone gives no key, and no time
 * passes either: SIGHUP may be ignored.
 */
static bool take_keys(struct screen *s, uint64_t until)
{
	for (int vain = 0; vain < 100; vain++) {
		const uint64_t now = now_ns();
		uint64_t wait = LIVE_KEEP_NS;
		int key;

		if (top_stop)
			return false;
		if (now >= until)
			return true;
		live_keep(&s->t->live);
		if (until - now < wait)
			wait = until - now;
		timeout((int)(wait / 1000000) + 1);
		key = getch();
		if (key != ERR || now_ns() - now >= wait)
			vain = 0;
		if (key == ERR)
			continue;
		if (!obey_key(s, key)) /* KEY_RESIZE, too: it is drawn again */
			return false;
		draw_screen(s);
	}
	return false;
}

/* die() leaves the terminal as it was, too. */
static void leave_screen(void)
{
	if (!isendwin())
		endwin();
}

int top_screen(struct top *t)
{
	struct screen s = {.t = t};

	setlocale(LC_CTYPE, "");
	s.term = newterm(NULL, stdout, stdin);
	if (!s.term)
		die(EXIT_USAGE, "top cannot use this terminal (TERM): use top -b for text");
	if (atexit(leave_screen))
		die(EXIT_NONE, "no memory");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	do {
		live_read(&t->live);
		draw_screen(&s);
	} while (take_keys(&s, now_ns() + t->delay));
	endwin();
	delscreen(s.term);
	table_free(&s.table);
	return 0;
}
