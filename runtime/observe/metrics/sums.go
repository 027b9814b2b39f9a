package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// bucketCounts are numbers of calls by how long they took; the last one is beyond all buckets.
type bucketCounts[N uint32 | uint64] [len(durationBuckets) + 1]N

// totals are the counters of a tool since the process began.
type totals struct {
	ok, failed, refused uint64
	durations           bucketCounts[uint64]
}

// sums are what was counted in a minute or an hour.
type sums struct {
	ok, failed, refused uint32
	durations           bucketCounts[uint32]
}

// add adds what was counted elsewhere in the same time; nil for nothing.
func (s *sums) add(o *sums) {
	if o == nil {
		return
	}
	s.ok, s.failed, s.refused = s.ok+o.ok, s.failed+o.failed, s.refused+o.refused
	for i, n := range o.durations {
		s.durations[i] += n
	}
}

func (s *sums) point() Point {
	if s.ok+s.failed+s.refused == 0 { // requests that began tasks have durations
		return Point{}
	}
	return Point{
		OK: s.ok, Failed: s.failed, Refused: s.refused,
		P50: quantile(&s.durations, 0.5), P95: quantile(&s.durations, 0.95), P99: quantile(&s.durations, 0.99),
	}
}

// totals reads the counters of an operation.
func (o *Operation) totals() (t totals) {
	for at, word := range outcomes {
		for from := range sources {
			series := o.ended[at][from].Load()
			if series == nil {
				continue
			}
			n := uint64(valueOf(*series).GetCounter().GetValue())
			switch word {
			case "ok":
				t.ok += n
			case "refused":
				t.refused += n
			case "partial", "failed", "error", "cancelled":
				t.failed += n
			}
		}
	}
	for i := range o.durations {
		for j := range o.durations[i] {
			if series := o.durations[i][j].Load(); series != nil {
				t.addDurations(valueOf((*series).(prometheus.Metric)).GetHistogram())
			}
		}
	}
	return t
}

// valueOf reads a series. One of this package has no error.
func valueOf(series prometheus.Metric) *dto.Metric {
	value := new(dto.Metric)
	_ = series.Write(value)
	return value
}

func (t *totals) addDurations(h *dto.Histogram) {
	below := uint64(0)
	for i, b := range h.GetBucket() {
		t.durations[i] += b.GetCumulativeCount() - below
		below = b.GetCumulativeCount()
	}
	t.durations[len(durationBuckets)] += h.GetSampleCount() - below
}

func (t *totals) calls() uint64 { return t.ok + t.failed + t.refused }

// since returns what has happened since earlier totals; nil for nothing.
func (t *totals) since(before *totals) *sums {
	if *t == *before {
		return nil
	}
	s := &sums{uint32(t.ok - before.ok), uint32(t.failed - before.failed), uint32(t.refused - before.refused),
		bucketCounts[uint32]{}}
	for i := range s.durations {
		s.durations[i] = uint32(t.durations[i] - before.durations[i])
	}
	return s
}

// addSince adds what has happened between earlier totals of a tool and later ones.
func (t *totals) addSince(later, earlier *totals) {
	t.ok, t.failed = t.ok+later.ok-earlier.ok, t.failed+later.failed-earlier.failed
	t.refused += later.refused - earlier.refused
	for i := range t.durations {
		t.durations[i] += later.durations[i] - earlier.durations[i]
	}
}

// quantile estimates a quantile of durations, in seconds, as histogram_quantile of Prometheus does: durations are
// evenly distributed in a bucket, and what is beyond all buckets takes as long as the largest.
func quantile(durations *bucketCounts[uint32], q float64) float32 {
	all := uint64(0)
	for _, n := range durations {
		all += uint64(n)
	}
	if all == 0 {
		return 0
	}
	rank, below := q*float64(all), 0.0
	for i, n := range durations[:len(durationBuckets)] {
		if below+float64(n) >= rank && n > 0 {
			lower := 0.0
			if i > 0 {
				lower = durationBuckets[i-1]
			}
			return float32(lower + (durationBuckets[i]-lower)*(rank-below)/float64(n))
		}
		below += float64(n)
	}
	return float32(durationBuckets[len(durationBuckets)-1])
}
