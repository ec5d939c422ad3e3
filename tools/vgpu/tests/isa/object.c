// SPDX-License-Identifier: MIT
/* object.c - code objects, see object.h */
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object.h"

void *object_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(2);
	}
	p = mmap(NULL, (size_t)st.st_size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		exit(2);
	close(fd);
	*size = (size_t)st.st_size;
	return p;
}

size_t object_memory(const void *file)
{
	const Elf64_Ehdr *e = file;
	const Elf64_Phdr *h = (const void *)((const u8 *)file + e->e_phoff);
	size_t end = 0;
	u32 i;

	for (i = 0; i < e->e_phnum; i++)
		if (h[i].p_type == PT_LOAD && h[i].p_vaddr + h[i].p_memsz > end)
			end = h[i].p_vaddr + h[i].p_memsz;
	return end;
}

void object_load(const void *file, void *memory)
{
	const Elf64_Ehdr *e = file;
	const Elf64_Phdr *h = (const void *)((const u8 *)file + e->e_phoff);
	u32 i;

	for (i = 0; i < e->e_phnum; i++)
		if (h[i].p_type == PT_LOAD)
			memcpy((u8 *)memory + h[i].p_vaddr, (const u8 *)file + h[i].p_offset, h[i].p_filesz);
}

#define R_AMDGPU_ABS64		3
#define R_AMDGPU_RELATIVE64	13

void object_relocate(const void *file, void *memory)
{
	const Elf64_Ehdr *e = file;
	const Elf64_Shdr *h = (const void *)((const u8 *)file + e->e_shoff);
	const Elf64_Rela *r;
	const Elf64_Sym *s;
	u64 value;
	u32 i, n;

	for (i = 0; i < e->e_shnum; i++) {
		if (h[i].sh_type != SHT_RELA)
			continue;
		r = (const void *)((const u8 *)file + h[i].sh_offset);
		s = (const void *)((const u8 *)file + h[h[i].sh_link].sh_offset);
		for (n = 0; n < h[i].sh_size / sizeof(*r); n++) {
			value = (uintptr_t)memory + (u64)r[n].r_addend;
			if (ELF64_R_TYPE(r[n].r_info) == R_AMDGPU_ABS64)
				value += s[ELF64_R_SYM(r[n].r_info)].st_value;
			else if (ELF64_R_TYPE(r[n].r_info) != R_AMDGPU_RELATIVE64)
				exit(2);
			memcpy((u8 *)memory + r[n].r_offset, &value, sizeof(value));
		}
	}
}

#define NT_AMDGPU_METADATA	32

const u8 *object_note(const void *file)
{
	const Elf64_Ehdr *e = file;
	const Elf64_Phdr *h = (const void *)((const u8 *)file + e->e_phoff);
	const Elf64_Nhdr *n;
	u32 i;

	for (i = 0; i < e->e_phnum; i++) {
		n = (const void *)((const u8 *)file + h[i].p_offset);
		if (h[i].p_type == PT_NOTE && n->n_type == NT_AMDGPU_METADATA)
			return (const u8 *)(n + 1) + ((n->n_namesz + 3) & ~3u);
	}
	return NULL;
}

bool object_symbol(const void *file, const char *name, u64 *value)
{
	const Elf64_Ehdr *e = file;
	const Elf64_Shdr *h = (const void *)((const u8 *)file + e->e_shoff);
	const char *strings;
	const Elf64_Sym *s;
	u32 i, n;

	for (i = 0; i < e->e_shnum; i++) {
		if (h[i].sh_type != SHT_DYNSYM)
			continue;
		s = (const void *)((const u8 *)file + h[i].sh_offset);
		strings = (const char *)file + h[h[i].sh_link].sh_offset;
		for (n = 0; n < h[i].sh_size / sizeof(*s); n++)
			if (!strcmp(strings + s[n].st_name, name)) {
				*value = s[n].st_value;
				return true;
			}
	}
	return false;
}
