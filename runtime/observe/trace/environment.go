package trace

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// RatioFromEnvironment returns the share of calls that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG say is traced;
// 1 without them. Whether a sampler begins with parentbased_ makes no difference.
func RatioFromEnvironment() (float64, error) {
	name, arg := os.Getenv("OTEL_TRACES_SAMPLER"), os.Getenv("OTEL_TRACES_SAMPLER_ARG")
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		return 1, nil
	case "always_off":
		return 0, nil
	case "traceidratio":
		if arg == "" {
			return 1, nil
		}
		if ratio, err := strconv.ParseFloat(arg, 64); err == nil && ratio >= 0 && ratio <= 1 {
			return ratio, nil
		}
		return 0, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is a number from 0 to 1, not %q", arg)
	}
	return 0, fmt.Errorf("OTEL_TRACES_SAMPLER is always_on, always_off or traceidratio, not %q", name)
}

// sendInterval returns how long ended spans wait for others at most: OTEL_BSP_SCHEDULE_DELAY, or 5 seconds.
func sendInterval() (time.Duration, error) {
	text := os.Getenv("OTEL_BSP_SCHEDULE_DELAY")
	if text == "" {
		return 5 * time.Second, nil
	}
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("OTEL_BSP_SCHEDULE_DELAY is a number of milliseconds, not %q", text)
	}
	return time.Duration(ms) * time.Millisecond, nil
}
