/* SPDX-License-Identifier: MIT */
/*
 * intercept.h - force-included into the test build of amdgpu ("fast" front end)
 *
 * The registers of the virtual GPU are no PCI device behind a bus but functions of vgpu.ko. A test build of amdgpu
 * reaches them through the ordinary accessors, redirected here; nothing else of the driver changes. The module that
 * users install is never built with this file (see the "verbatim" front end in front_kmmio.c).
 */
#ifndef VGPU_INTERCEPT_H
#define VGPU_INTERCEPT_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/io.h>

/* Parts that no Instinct needs: their sources are not built, so the headers' autoconf must not promise them. */
#undef CONFIG_DRM_AMD_DC
#undef CONFIG_DRM_AMD_DC_FP
#undef CONFIG_DRM_AMD_DC_SI
#undef CONFIG_DRM_AMD_ACP
#undef CONFIG_DRM_AMDGPU_SI
#undef CONFIG_DRM_AMDGPU_CIK

u32 vgpu_readl(const volatile void __iomem *addr);
u64 vgpu_readq(const volatile void __iomem *addr);
void vgpu_writel(u32 value, volatile void __iomem *addr);
void vgpu_writeq(u64 value, volatile void __iomem *addr);

#undef readl
#undef readq
#undef writel
#undef writeq
#define readl(addr)		vgpu_readl(addr)
#define readq(addr)		vgpu_readq(addr)
#define writel(value, addr)	vgpu_writel((value), (addr))
#define writeq(value, addr)	vgpu_writeq((value), (addr))

#endif /* VGPU_INTERCEPT_H */
