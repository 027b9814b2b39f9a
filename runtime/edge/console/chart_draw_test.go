package console

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/observe/metrics"
)

// parse returns the numbers of the attributes of an SVG, which must be well-formed.
func parse(t *testing.T, svg string) (elements int) {
	t.Helper()
	for in := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		elements++
		for _, a := range element.Attr {
			if a.Name.Local != "y" && a.Name.Local != "x" && a.Name.Local != "height" && a.Name.Local != "width" {
				continue
			}
			n, err := strconv.ParseFloat(strings.TrimSuffix(a.Value, "%"), 64)
			end := plotBottom + plotFoot
			if strings.HasSuffix(a.Value, "%") {
				end = 100.01
			}
			if inMargin := a.Value == "-8"; err != nil || !inMargin && (n < 0 || n > end) {
				t.Errorf("<%s %s=%q> is outside of the chart", element.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

func TestAnyHistoryIsDrawnInsideItsChart(t *testing.T) {
	for name, point := range map[string]func(i int) metrics.Point{
		"none": func(int) metrics.Point { return metrics.Point{} },
		"few":  func(i int) metrics.Point { return metrics.Point{OK: uint32(i % 2), P50: 0.001, P95: 0.002, P99: 0.003} },
		"extreme": func(i int) metrics.Point {
			return metrics.Point{OK: 1 << 31, Failed: 1 << 30, P50: 1e-9, P95: 1, P99: 300}
		},
		"alone": func(i int) metrics.Point {
			if i != 30 {
				return metrics.Point{}
			}
			return metrics.Point{Failed: 1, P50: 0.0005, P95: 0.0005, P99: 0.0005}
		},
		"full": func(i int) metrics.Point {
			return metrics.Point{OK: uint32(i * i), Failed: uint32(i), Refused: 3, P50: float32(i) / 100, P95: float32(i), P99: 299}
		},
	} {
		t.Run(name, func(t *testing.T) {
			end := time.Unix(1e9, 0)
			history := metrics.Chart{End: end}
			for i := range history.Minutes {
				history.Minutes[i] = point(i)
			}
			c := newHourChart(&history, end.Add(-40*time.Minute))
			size := 0
			for _, svg := range []string{string(c.Outcomes), string(c.Latency)} {
				size += len(svg)
				if parse(t, svg) < 3 {
					t.Errorf("nothing is drawn: %s", svg)
				}
			}
			if size > 40<<10 {
				t.Errorf("%d bytes", size)
			}
		})
	}
}

func TestPlotsHaveRoundAxes(t *testing.T) {
	for most, want := range map[uint64]uint64{0: 1, 4: 1, 5: 2, 9: 5, 21: 10, 999: 500, 1 << 32: 2e9} {
		if got := roundStep(most); got != want {
			t.Errorf("up to %d, a step is %d, not %d", most, got, want)
		}
	}
	for _, c := range []struct {
		least, most float64
		want        string
	}{
		{0.012, 0.04, "10 ms 20 ms 50 ms"},
		{0.05, 0.05, "50 ms 100 ms"},
		{0.0001, 300, "0.1 ms 1 ms 10 ms 100 ms 1 s 10 s 100 s"},
		{0.7, 2.5, "500 ms 1 s 2 s 5 s"},
	} {
		var labels []string
		for _, m := range newLatencyScale(c.least, c.most).marks {
			labels = append(labels, m.label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %v to %v s, the axis has %s", c.least, c.most, got)
		}
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
	for s, want := range map[float32]string{0: "–", 0.0005: "0.5 ms", 0.031: "31 ms", 1.25: "1.2 s", 300: "300 s"} {
		if got := seconds(s); got != want {
			t.Errorf("%v is %s", s, got)
		}
	}
}

// Labels of an axis have room: there are 5 to 10 steps, whatever the length is.
func TestTheAxisOfATimelineHasFewTicks(t *testing.T) {
	for total := 20 * time.Microsecond; total < time.Hour; total += total / 7 {
		if n := len(newTicks(total)) - 1; n < 4 || n > 10 {
			t.Errorf("%s has %d steps", total, n)
		}
	}
}
