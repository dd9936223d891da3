/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A guest that is its own BIOS (64 KiB at F000:0000): it fills 448 KiB of memory with a pattern, then
 * writes for ever, one character a round to the serial port, the low four bits of a counter as a
 * digit if all words still hold the pattern, else '!'. Each round changes the pattern by one.
 */
	.code16
	.text
	.set	FIRST, 0x1000		/* segments of the memory that is checked */
	.set	LAST, 0x8000
	.set	UART, 0x3f8

start:
	cli
	xor	%ax, %ax
	mov	%ax, %ss
	mov	$0x7000, %sp
	xor	%bp, %bp		/* the counter */
	mov	$FIRST, %bx
1:	mov	%bx, %es
	xor	%di, %di
2:	mov	%bx, %ax
	xor	%di, %ax
	mov	%ax, %es:(%di)
	add	$2, %di
	jnz	2b
	add	$0x1000, %bx
	cmp	$LAST, %bx
	jne	1b

round:
	xor	%si, %si		/* words that are wrong */
	mov	$FIRST, %bx
1:	mov	%bx, %es
	xor	%di, %di
2:	mov	%bx, %ax
	xor	%di, %ax
	add	%bp, %ax
	cmp	%ax, %es:(%di)
	je	3f
	inc	%si
3:	incw	%es:(%di)
	add	$2, %di
	jnz	2b
	add	$0x1000, %bx
	cmp	$LAST, %bx
	jne	1b
	mov	$'!', %al
	test	%si, %si
	jnz	4f
	mov	%bp, %ax
	and	$15, %al
	add	$'0', %al
	cmp	$'9', %al
	jbe	4f
	add	$('a' - '9' - 1), %al
4:	mov	$UART, %dx
	out	%al, %dx
	inc	%bp
	jmp	round

	.org	0xfff0
	ljmp	$0xf000, $start
	.org	0xffff
	.byte	0
