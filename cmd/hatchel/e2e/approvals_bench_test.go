package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

const manyApprovals = 10000

// BenchmarkApprovals measures the latency of the HTTP endpoint for an approver while 10,000 calls
// are pending.
func BenchmarkApprovals(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		o := newApprovalServer(b, `state { sqlite = "state.db" }`)
		o.replica = startReplica(b, o.dir, "")
		store, err := state.Open(b.Context(), filepath.Join(o.dir, "state.db"))
		o.measure(b, store, err)
	})
	b.Run("postgres", func(b *testing.B) {
		address := emptySchema(b)
		o := newApprovalServer(b, "state { postgres = secret.dsn }\nsecret \"dsn\" { env = \"STATE\" }")
		o.replica = startReplica(b, o.dir, address)
		store, err := state.OpenPostgres(b.Context(), address)
		o.measure(b, store, err)
	})
}

func (o *approvalServer) measure(b *testing.B, store state.Store, err error) {
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	ids := o.fill(b, store)
	decided := 0 // a benchmark is begun several times
	for _, c := range []struct {
		name, method string
		path         func(i int) string
	}{
		{"page of 100", http.MethodGet, func(int) string { return "/approvals" }},
		{"all", http.MethodGet, func(int) string { return "/approvals?limit=16384" }},
		{"show", http.MethodGet, func(i int) string { return "/approvals/" + ids[i*37%len(ids)] }},
		{"decide", http.MethodPost, func(int) string { decided++; return "/approvals/" + ids[decided-1] + "/approve" }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for i := range 100 {
				began := time.Now()
				res, err := http.DefaultClient.Do(o.newRequest("bob", c.method, c.path(i), ""))
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, res.Body)
				if took = append(took, time.Since(began)); err != nil || res.StatusCode != http.StatusOK || c.name == "all" && n < manyApprovals*300 {
					b.Fatalf("%s: %d bytes (%v)", res.Status, n, err)
				}
				res.Body.Close()
			}
			slices.Sort(took)
			for name, at := range map[string]int{"ms-median": 50, "ms-95th": 95, "ms-worst": 99} {
				b.ReportMetric(float64(took[at].Microseconds())/1000, name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// fill adds 10,000 pending approvals of 100 callers.
func (o *approvalServer) fill(b *testing.B, store state.Store) []string {
	b.Helper()
	approvals, now := approval.NewStore(store), time.Now()
	ids := make([]string, manyApprovals)
	var all sync.WaitGroup
	for part := range 8 {
		all.Go(func() {
			for i := part; i < manyApprovals; i += 8 {
				a, _, err := approvals.Open(b.Context(), fmt.Sprint(i), approval.Request{
					Tool: "refund", Title: "Refund a customer", Message: fmt.Sprintf("Refund %d to customer %d, who has asked for it.", 100+i, i),
					Arguments: json.RawMessage(fmt.Sprintf(`{"amount":%d,"note":"The goods came broken, as the pictures show."}`, 100+i)),
					Effect:    fmt.Sprintf("POST https://shop.example.com/orders/%d/refunds\nContent-Type: application/json\n\n{\"amount\":%d}", i, 100+i),
					Caller:    approval.Requester{Subject: fmt.Sprintf("agent-%d", i%100), Key: "issuer", Groups: []string{"agents"}, Remote: "127.0.0.1:40000"},
					Rules:     []string{"tool.refund.approval"}, Revision: "0123456789abcdef", RequestedAt: now, Deadline: now.Add(time.Hour + time.Duration(i)*time.Millisecond), Audited: true,
				})
				if err != nil {
					b.Error(err)
					return
				}
				ids[i] = a.ID
			}
		})
	}
	all.Wait()
	return ids
}
