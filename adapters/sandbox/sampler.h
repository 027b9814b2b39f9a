// Samples the process IDs that the kernel assigns; see sampler_linux.c.

#include <stdint.h>

// When sandbox_sample returns. Go writes the thresholds with atomic stores while it runs.
struct sandbox_sampler {
	int32_t sample_threshold; // it returns at any sample, if the last ID is not below
	int32_t scan_threshold;   // it returns at a scan, if the last ID is not below
	int32_t is_scan;          // it returned at a scan
	int32_t samples;
	int32_t last;
};

extern struct sandbox_sampler sandbox_sampler;

// Takes samples of the process ID that was assigned last, which it reads from an open /proc/loadavg, until a threshold
// is reached. Returns the ID, or 0 if it is not known. One thread at a time may call it.
int sandbox_sample(int loadavg, long interval_ns, int samples_per_scan);
