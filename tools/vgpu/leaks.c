// SPDX-License-Identifier: MIT
/*
 * leaks.c - what a kernel that looks for leaks need not read
 *
 * On x86 the shadow of KASAN, an eighth of the memory, is boot memory like any other to kmemleak,
 * which reads it from end to end for pointers that cannot be there. That is most of a scan.
 */
#include <linux/kasan.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>

#include "vgpu.h"

#if defined(CONFIG_DEBUG_KMEMLEAK) && defined(CONFIG_KASAN_GENERIC)
void vgpu_spare_shadow(void)
{
	unsigned long pfn, step = PFN_DOWN((unsigned long)PMD_SIZE << KASAN_SHADOW_SCALE_SHIFT);
	unsigned int level;
	pte_t *pte;

	/* Allocated in huge pages, each the shadow of eight; less than a huge page is not worth the trouble. */
	for (pfn = 0; pfn < node_end_pfn(0); pfn += step) {
		pte = pfn_valid(pfn) ? lookup_address((unsigned long)kasan_mem_to_shadow(pfn_to_kaddr(pfn)), &level) : NULL;
		if (pte && level == PG_LEVEL_2M)
			kmemleak_ignore_phys(PFN_PHYS(pmd_pfn(*(pmd_t *)pte)));
	}
}
#else
void vgpu_spare_shadow(void)
{
}
#endif
