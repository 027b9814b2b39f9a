package decode

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func (d *Decoder) Duration(e hclsyntax.Expression, f Field) time.Duration {
	n := d.CompileKnown(e, f)
	s, ok := n.Value.(string)
	t, err := time.ParseDuration(s)
	if n.Known && (!ok || err != nil || t < 0) {
		d.Errorf(e.Range(), "Invalid duration", `%s is a duration in quotes, as in "500ms", "30s", "5m" or "1h30m".`,
			f.Name)
		return 0
	}
	return t
}

// Size is a number of bytes.
type Size int64

// String formats a size for people, exactly if that is short.
func (n Size) String() string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20-1<<10/20: // where %.1f KiB would round to 1024.0
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	case n >= 10<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", int64(n))
}

var sizeUnits = []struct {
	suffix string
	factor float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

func (d *Decoder) Size(e hclsyntax.Expression, f Field) Size {
	n := d.CompileKnown(e, f)
	if i, ok := n.Value.(int); ok && i > 0 {
		return Size(i)
	}
	if s, ok := n.Value.(string); ok {
		if size, ok := ParseSize(s); ok {
			return size
		}
	}
	if n.Known {
		d.Errorf(e.Range(), "Invalid size",
			`A size is a number of bytes, or a string such as "64KiB", "4MiB" or "1GB".`)
	}
	return 0
}

// ParseSize reads a size with its unit, such as "64KiB". It reports false for anything else, and for zero.
func ParseSize(s string) (Size, bool) {
	for _, u := range sizeUnits {
		num, found := strings.CutSuffix(strings.TrimSpace(s), u.suffix)
		if !found {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err == nil && v > 0 && v*u.factor < math.MaxInt64/2 {
			return Size(v * u.factor), true
		}
	}
	return 0, false
}
