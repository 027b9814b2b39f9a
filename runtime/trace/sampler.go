package trace

import (
	"fmt"
	"os"
	"strconv"
	"strings"
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
