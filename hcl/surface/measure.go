package surface

import (
	"strconv"
	"strings"
	"time"
)

// isLower reports whether a bound is a smaller number than before, or one where there was none. Without a bound there
// is a default, which is not known here.
func isLower(old, new string) bool {
	a, ok := measure(old)
	b, also := measure(new)
	return ok && also && b <= a
}

// units are the units of sizes and of rates, which are calls an hour.
var units = map[string]float64{
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
	"/s": 3600, "/m": 60, "/h": 1, "/d": 1.0 / 24,
}

// measure returns a number, a duration, a size or a rate as it is written; a rate in calls an hour.
func measure(form string) (n float64, ok bool) {
	text := strings.Trim(form, `"`)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, true
	}
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d), true
	}
	for unit, factor := range units {
		if number, found := strings.CutSuffix(text, unit); found {
			n, err := strconv.ParseFloat(number, 64)
			return n * factor, err == nil
		}
	}
	return 0, false
}
