// SPDX-License-Identifier: MIT
/*
 * golden.c - driver and device against dumps of a real MI308X (tools/vgpu/golden/mi308x.table)
 *
 * Queues of one process that do nothing, as a ROCm program makes them, and what amdkfd's debugfs shows of them. Needs a GPU of
 * that kind, real or virtual, on which nothing else runs, and no scheduler, which sends packets of its own. $GOLDEN names the table.
 */
#include "kselftest_harness.h"

#include "fixture.h"
#include "../../../../vgpu/golden/golden.h"

#define DEBUGFS		"/sys/kernel/debug/kfd/"
#define TABLE		"/golden/mi308x.table"
#define QUEUES		5u
#define RING_PACKETS	((1u << 20) / 64)	/* 1 MiB, as those of HIP */
#define XCCS		4u
#define PIPES		4u
#define SLOTS		8u
#define ENGINES		16u
#define MQD_WORDS	512u
#define HQD_FIRST	(GOLDEN_HQD)
#define IT_MAP_PROCESS	0xa1
#define IT_MAP_QUEUES	0xa2
#define HIQ_RING_DWORDS	512u

/* What a slot's registers are, and where the first one is, in bytes */
struct slot {
	uint32_t address;
	uint32_t words[GOLDEN_HQD + GOLDEN_HQD_REGS];
	bool there;
};

/* File "hqds" */
struct hqds {
	struct slot hiq[XCCS];
	struct slot slot[XCCS][PIPES][SLOTS];
	uint32_t sdma[ENGINES];		/* address of the first register of user queue 0, in bytes */
};

/* File "mqds": the newest queue first */
struct mqds {
	uint32_t words[QUEUES][XCCS][MQD_WORDS];
	unsigned int queues;
};

static struct golden table;
static struct hqds hqds;
static struct mqds mqds;
static uint32_t list[2048];
static unsigned int list_dwords;

static const char *golden_missing(void)
{
	const char *path = getenv("GOLDEN") ? getenv("GOLDEN") : TABLE;
	FILE *f;

	if (access(path, R_OK))
		return "the table of what the device has shown is absent: add tools/vgpu/golden:/golden";
	if (!golden_read(path, &table))
		return "the table cannot be read";
	f = fopen(DEBUGFS "hqds", "r");
	if (!f)
		return "needs " DEBUGFS "hqds";
	fclose(f);
	return NULL;
}

/* The XCC or engine after @word of a line, -1: it is not there */
static int behind(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at ? atoi(at + strlen(word)) : -1;
}

/* A line of a file that goes through all nodes; false: the first one's part is over */
static bool next_line(FILE *f, char *line, int size, int *nodes)
{
	if (!f || !fgets(line, size, f))
		return false;
	*nodes += !strncmp(line, "Node ", 5);
	return *nodes < 2;
}

static bool read_hqds(void)
{
	FILE *f = fopen(DEBUGFS "hqds", "r");
	struct slot *now = NULL;
	char line[256], *at;
	int xcc, pipe, slot, engine = -1, nodes = 0;
	unsigned int n = 0;

	memset(&hqds, 0, sizeof(hqds));
	while (next_line(f, line, sizeof(line), &nodes)) {
		if (strchr(line, ',') || strstr(line, "SDMA")) {
			xcc = behind(line, "Inst ");
			pipe = behind(line, "Pipe ");
			slot = behind(line, "Queue ");
			engine = strstr(line, "RLC 0") ? behind(line, "SDMA Engine ") : -1;
			now = NULL;
			n = 0;
			if (xcc >= 0 && xcc < (int)XCCS && strstr(line, "HIQ"))
				now = &hqds.hiq[xcc];
			else if (xcc >= 0 && xcc < (int)XCCS && pipe >= 0 && pipe < (int)PIPES && slot >= 0 && slot < (int)SLOTS)
				now = &hqds.slot[xcc][pipe][slot];
			if (now)
				now->there = true;
			continue;
		}
		at = strchr(line, ':');
		if (!at)
			continue;
		if (!n && now)
			now->address = (uint32_t)strtoul(line, NULL, 16);
		if (!n && engine >= 0 && engine < (int)ENGINES)
			hqds.sdma[engine] = (uint32_t)strtoul(line, NULL, 16);
		for (at = strtok(at + 1, " \n"); at; at = strtok(NULL, " \n"), n++)
			if (now && n < GOLDEN_HQD_REGS)
				now->words[HQD_FIRST + n] = (uint32_t)strtoul(at, NULL, 16);
	}
	if (f)
		fclose(f);
	return hqds.hiq[0].there && hqds.hiq[0].address;
}

/* Words of a hex dump whose lines begin with an offset; a new one begins at 0. Return: false if the line is none */
static bool dump_line(char *line, uint32_t *words, unsigned int most, unsigned int *first, unsigned int *count)
{
	char *at = strchr(line, ':'), *end;
	unsigned int n = 0;

	if (!at || line[0] != ' ')
		return false;
	*first = (unsigned int)strtoul(line, &end, 16) / 4;
	if (end != at)
		return false;
	for (at = strtok(at + 1, " \n"); at; at = strtok(NULL, " \n"), n++)
		if (*first + n < most)
			words[*first + n] = (uint32_t)strtoul(at, NULL, 16);
	*count = n;
	return true;
}

/* Return: false if there is not a dump of each XCC for each queue that was to be there */
static bool read_mqds(unsigned int queues)
{
	FILE *f = fopen(DEBUGFS "mqds", "r");
	unsigned int first, n, xcc = 0;
	uint32_t words[MQD_WORDS];
	char line[256];
	int queue = -1;

	memset(&mqds, 0, sizeof(mqds));
	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "Compute queue")) {
			queue++;
			xcc = 0;
		} else if (queue >= 0 && queue < (int)QUEUES && dump_line(line, words, MQD_WORDS, &first, &n)) {
			xcc += !first && mqds.words[queue][xcc][0];
			if (xcc < XCCS)
				memcpy(&mqds.words[queue][xcc][first], &words[first], n * sizeof(*words));
		}
	}
	if (f)
		fclose(f);
	mqds.queues = (unsigned int)(queue + 1);
	return mqds.queues == queues && (!queues || mqds.words[queues - 1][XCCS - 1][0]);
}

static void read_runlist(void)
{
	FILE *f = fopen(DEBUGFS "rls", "r");
	unsigned int first, n;
	char line[256];
	int nodes = 0;

	list_dwords = 0;
	while (next_line(f, line, sizeof(line), &nodes))
		if (dump_line(line, list, sizeof(list) / sizeof(*list), &first, &n))
			list_dwords = first + n;
	if (f)
		fclose(f);
}

/* MQD of entry @entry of the runlist; 0: there is no such entry */
static uint64_t listed_mqd(unsigned int entry)
{
	unsigned int at, dwords;

	for (at = 0; at < list_dwords; at += dwords) {
		dwords = (list[at] >> 16 & 0x3fff) + 2;
		if ((list[at] >> 8 & 0xff) == IT_MAP_QUEUES && !entry--)
			return list[at + 3] | (uint64_t)list[at + 4] << 32;
	}
	return 0;
}

static uint64_t mqd_address(const uint32_t *words)
{
	return words[golden_index("cp_mqd_base_addr_lo")] | (uint64_t)words[golden_index("cp_mqd_base_addr_hi")] << 32;
}

/* Number @word of the line of @key and @second, -1 if there is none */
static int64_t said(const char *key, const char *second, unsigned int word)
{
	int line = golden_find(&table, key, second);

	return line < 0 ? -1 : (int64_t)golden_number(&table, (unsigned int)line, word);
}

static int64_t said_of(const char *key, unsigned int second, unsigned int word)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", second);
	return said(key, text, word);
}

/* Does each register of @key hold, and is there one? */
static bool holds(const char *key, unsigned int xcc, const uint32_t *words)
{
	struct golden_register r;
	unsigned int line = 0, n = 0;
	bool all = true;

	for (; golden_register(&table, key, &line, &r); n++) {
		/* The driver writes none from 7.0 on. */
		if (kfd_kernel_since(7, 0) && r.index == golden_index("cp_hqd_queue_priority"))
			continue;
		all &= golden_holds(&r, xcc, words[r.index]);
	}
	return all && n;
}

static uint32_t hiq_wptr(void)
{
	return read_hqds() ? hqds.hiq[0].words[golden_index("cp_hqd_pq_wptr_lo")] : 0;
}

FIXTURE(golden) {
	BEFORE_TEST;
	struct kfd_client client;
	struct kfd_queue queue[QUEUES];
	unsigned int queues;
};

static int create(struct kfd_client *c, struct kfd_queue *q, unsigned int *queues, unsigned int count)
{
	int err = 0;

	while (*queues < count && !err) {
		err = kfd_queue_create(c, &q[*queues], KFD_BACKING_GTT, KFD_PRIORITY_NORMAL, RING_PACKETS);
		*queues += !err;
	}
	return err;
}

static int destroy(struct kfd_queue *q, unsigned int *queues, unsigned int rest)
{
	int err = 0;

	while (*queues > rest && !err)
		err = kfd_queue_destroy(&q[--*queues]);
	return err;
}

FIXTURE_SETUP(golden)
{
	NEEDS(golden_missing());
	SETUP_DEVICE();
	ASSERT_EQ(0, kfd_client_open(&self->client)) TH_LOG("%s", self->client.why);
	if (self->client.num_xcc != XCCS)
		SKIP(return, "the device has %u XCCs, that of the table has %u", self->client.num_xcc, XCCS);
}

FIXTURE_TEARDOWN(golden)
{
	destroy(self->queue, &self->queues, 0);
	kfd_client_close(&self->client);
	EXPECT_DEVICE_UNHARMED();
}

#define ASSERT_CREATED(n)	ASSERT_EQ(0, create(&self->client, self->queue, &self->queues, n))
#define ASSERT_DESTROYED_BUT(n)	ASSERT_EQ(0, destroy(self->queue, &self->queues, n))

TEST_F(golden, packets_of_creations_and_destructions)
{
	uint32_t before = hiq_wptr(), created;

	ASSERT_CREATED(QUEUES);
	created = hiq_wptr();
	EXPECT_EQ(said("packets", "created", 3), created - before);
	ASSERT_DESTROYED_BUT(0);
	EXPECT_EQ(said("packets", "destroyed", 3), hiq_wptr() - created);
	EXPECT_EQ(QUEUES, said("packets", "created", 2));
}

TEST_F(golden, runlist_has_the_newest_queue_first)
{
	unsigned int i;

	ASSERT_CREATED(1);
	read_runlist();
	EXPECT_EQ(said_of("runlist", 1, 2), list_dwords);
	ASSERT_CREATED(QUEUES);
	read_runlist();
	EXPECT_EQ(said_of("runlist", QUEUES, 2), list_dwords);
	EXPECT_EQ(IT_MAP_PROCESS, list[0] >> 8 & 0xff);
	ASSERT_TRUE(read_mqds(QUEUES));
	for (i = 0; i < QUEUES; i++) {
		const struct kfd_queue *q = &self->queue[QUEUES - 1 - i];
		uint32_t doorbell = (uint32_t)((const volatile uint8_t *)q->doorbell - self->client.doorbells);

		EXPECT_EQ(mqd_address(mqds.words[i][0]), listed_mqd(i));
		EXPECT_EQ(doorbell, mqds.words[i][0][golden_index("cp_hqd_pq_doorbell_control")] & 0x1ffc);
	}
}

TEST_F(golden, slots_follow_the_runlist_on_all_xccs)
{
	unsigned int i, xcc;

	ASSERT_CREATED(QUEUES);
	read_runlist();
	ASSERT_TRUE(read_hqds());
	for (i = 0; i < QUEUES; i++) {
		int64_t pipe = said_of("slot", i, 2), slot = said_of("slot", i, 3);

		ASSERT_LE(0, pipe);
		for (xcc = 0; xcc < XCCS; xcc++) {
			const struct slot *s = &hqds.slot[xcc][pipe][slot];

			ASSERT_TRUE(s->there);
			EXPECT_EQ(listed_mqd(i) + (uint64_t)xcc * said("size", "mqd_stride", 2), mqd_address(s->words));
			EXPECT_TRUE(holds("mapped", xcc, s->words));
		}
	}
}

TEST_F(golden, registers_are_where_they_are)
{
	unsigned int xcc, engine;

	ASSERT_TRUE(read_hqds());
	for (xcc = 0; xcc < XCCS; xcc++)
		EXPECT_EQ(said_of("base", xcc, 2), (hqds.hiq[xcc].address - hqds.hiq[0].address) / 4);
	for (engine = 0; said_of("sdma", engine, 2) >= 0; engine++)
		EXPECT_EQ(said_of("sdma", engine, 2), hqds.sdma[engine] / 4);
	EXPECT_EQ(8, engine);
}

TEST_F(golden, slot_that_was_left_is_cleared)
{
	unsigned int xcc;

	ASSERT_CREATED(QUEUES);
	ASSERT_DESTROYED_BUT(QUEUES - 1);
	ASSERT_TRUE(read_hqds());
	/* the oldest queue has moved up, and no other takes its place */
	for (xcc = 0; xcc < XCCS; xcc++) {
		const struct slot *s = &hqds.slot[xcc][said_of("slot", QUEUES - 1, 2)][said_of("slot", QUEUES - 1, 3)];

		ASSERT_TRUE(s->there);
		EXPECT_TRUE(holds("unmapped", xcc, s->words));
	}
}

TEST_F(golden, mqds_before_and_after_an_unmap)
{
	unsigned int i, xcc, connect = golden_index("cp_mqd_connect_start_time_lo");

	ASSERT_CREATED(QUEUES);
	ASSERT_TRUE(read_mqds(QUEUES));
	for (xcc = 0; xcc < XCCS; xcc++) {
		EXPECT_TRUE(holds("created", xcc, mqds.words[0][xcc]));
		for (i = 1; i < QUEUES; i++)
			EXPECT_TRUE(holds("saved", xcc, mqds.words[i][xcc]));
		for (i = 0; i < QUEUES; i++)
			EXPECT_LT(0, mqds.words[i][xcc][connect]);
	}
}

TEST_F(golden, save_areas_and_mqds_lie_back_to_back)
{
	unsigned int lo = golden_index("cp_hqd_ctx_save_base_addr_lo"), i, xcc;
	uint32_t bytes = (uint32_t)said("size", "save_area", 2), stride = (uint32_t)said("size", "mqd_stride", 2);

	EXPECT_EQ(bytes, self->client.cwsr_size);
	ASSERT_CREATED(QUEUES);
	ASSERT_TRUE(read_mqds(QUEUES));
	for (i = 0; i < QUEUES; i++)
		for (xcc = 0; xcc < XCCS; xcc++) {
			const uint32_t *w = mqds.words[i][xcc];

			EXPECT_EQ((uint64_t)(uintptr_t)self->queue[QUEUES - 1 - i].cwsr.ptr + (uint64_t)xcc * bytes, w[lo] | (uint64_t)w[lo + 1] << 32);
			EXPECT_EQ(stride, w[golden_index("cp_mqd_stride_size")]);
			EXPECT_EQ(mqd_address(mqds.words[i][0]) + (uint64_t)xcc * stride, mqd_address(w));
		}
}

/* The driver counts queues since it came up: only the difference is known. */
TEST_F(golden, logical_ids_are_rotated_with_each_queue)
{
	unsigned int id = golden_index("compute_current_logic_xcc_id"), i, xcc;
	uint32_t first;

	ASSERT_CREATED(4);
	ASSERT_TRUE(read_mqds(4));
	first = mqds.words[3][0][id];
	for (i = 0; i < 4; i++)
		for (xcc = 0; xcc < XCCS; xcc++)
			EXPECT_EQ((said_of("logic", i, 2 + xcc) + first) % XCCS, mqds.words[3 - i][xcc][id]);
}

TEST_F(golden, hiq_shows_how_far_it_is)
{
	unsigned int xcc;

	ASSERT_CREATED(QUEUES);
	ASSERT_TRUE(read_hqds());
	for (xcc = 0; xcc < XCCS; xcc++)
		EXPECT_TRUE(holds("hiq", xcc, hqds.hiq[xcc].words));
	ASSERT_DESTROYED_BUT(0);
	ASSERT_TRUE(read_hqds());
	for (xcc = 0; xcc < XCCS; xcc++)
		EXPECT_TRUE(holds("hiq_idle", xcc, hqds.hiq[xcc].words));
}

TEST_F(golden, hiq_write_pointer_does_not_wrap)
{
	while (hiq_wptr() <= HIQ_RING_DWORDS) {
		ASSERT_CREATED(QUEUES);
		ASSERT_DESTROYED_BUT(0);
	}
	EXPECT_EQ(hiq_wptr() % HIQ_RING_DWORDS, hqds.hiq[0].words[golden_index("cp_hqd_pq_rptr")]);
}

TEST_HARNESS_MAIN
