package elicit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
)

func testSealer(t testing.TB) *Sealer {
	store, err := state.Open(context.WithoutCancel(t.Context()), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s, err := NewSealer(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsFrozenThawsUnchanged(t *testing.T) {
	for _, v := range []any{
		nil, true, "", "text", 1, -1, 1.5, 1e300, math.Inf(1), json.Number("123456789012345678901234567890"),
		"\xff\x00 not UTF-8", value.Bytes("\xff"), value.Bytes{}, []any{}, map[string]any{},
		map[string]any{"$bytes": "AA==", "$": 1, "$$": 2, "": 3, "$float": []any{value.Bytes("x")}},
		[]any{[]any{map[string]any{"a": []any{nil, "x"}}}},
		map[string]any{"content": &adapters.Content{
			Blocks:  []adapters.ContentBlock{{Kind: adapters.ContentText, Text: "a", Audience: []string{"user"}}},
			Notices: []string{"b"}, Delimiter: "c",
		}},
	} {
		frozen, err := AppendFrozen(nil, v)
		if err != nil {
			t.Errorf("%v: %v", v, err)
			continue
		}
		if got, err := Thaw(frozen, unlimited); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%#v became %#v (%v) by %s", v, got, err, frozen)
		}
	}
	if frozen, err := AppendFrozen(nil, lazy(`{"$bytes":[1]}`)); err != nil || string(frozen) != `{"$$bytes":[1]}` {
		t.Errorf("got %s %v", frozen, err)
	}
	if v, err := Thaw([]byte(`{"$float":"NaN"}`), unlimited); err != nil || !math.IsNaN(v.(float64)) {
		t.Errorf("got %v %v", v, err)
	}
	deep := any(nil)
	for range value.MaxDepth + 10 {
		deep = []any{deep}
	}
	if _, err := AppendFrozen(nil, deep); err == nil {
		t.Error("what could not be read again was written")
	}
	for _, bad := range []string{`{"$bytes":"?"}`, `{"$else":"x"}`, `{"$bytes":"","a":1}`, `{"$text":1}`, `{"$float":"x"}`, `[`} {
		if v, err := Thaw([]byte(bad), unlimited); err == nil {
			t.Errorf("%s became %v", bad, v)
		}
	}
}

// noting notes what is added.
type noting struct {
	state.Store
	added []*state.Record
}

func (n *noting) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	n.added = append(n.added, r)
	return n.Store.Add(ctx, r)
}

func TestASealedStateOpensOnce(t *testing.T) {
	for claim, size := range map[string]int{"one that the client carries": maxInlineState, "one that is kept": maxInlineState + 1} {
		t.Run(claim, func(t *testing.T) {
			s, of, frozen := testSealer(t), digest.Of("t"), bytes.Repeat([]byte("x"), size)
			sealed, err := s.Seal(t.Context(), frozen, of, time.Now().Add(time.Hour))
			if err != nil || len(sealed) > 2*maxInlineState {
				t.Fatalf("it takes %d bytes, and %v", len(sealed), err)
			}
			if _, err := s.Open(t.Context(), sealed, digest.Of("u")); !isInvalidState(err) {
				t.Errorf("for another request: %v", err)
			}
			var opened atomic.Int64
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					switch got, err := s.Open(t.Context(), sealed, of); {
					case err == nil && bytes.Equal(got, frozen):
						opened.Add(1)
					case !isInvalidState(err):
						t.Errorf("%d bytes, %v", len(got), err)
					}
				})
			}
			all.Wait()
			if opened.Load() != 1 {
				t.Errorf("it is opened %d times", opened.Load())
			}
		})
	}
}

func TestASealedStateIsReadAnyNumberOfTimes(t *testing.T) {
	for claim, size := range map[string]int{"one that is in the token": maxInlineState, "one that is kept": maxInlineState + 1} {
		t.Run(claim, func(t *testing.T) {
			s, of, frozen := testSealer(t), digest.Of("t"), bytes.Repeat([]byte("x"), size)
			sealed, err := s.Seal(t.Context(), frozen, of, time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(t.Context(), sealed, digest.Of("u")); !isInvalidState(err) {
				t.Errorf("for another request: %v", err)
			}
			for range 2 {
				if got, err := s.Read(t.Context(), sealed, of); err != nil || !bytes.Equal(got, frozen) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
}

func TestThatAStateWasUsedIsKnownUntilItHasExpiredByAnyClock(t *testing.T) {
	s, of := testSealer(t), digest.Of("t")
	store, until := &noting{Store: s.store}, time.Now().Add(time.Hour)
	s.store = store
	sealed, err := s.Seal(t.Context(), nil, of, until)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), sealed, of); err != nil || len(store.added) != 1 || store.added[0].Expires.Before(until.Add(state.MaxClockSkew).Truncate(time.Millisecond)) {
		t.Errorf("%v, and %+v", err, store.added)
	}
}

// FuzzSealedState opens states that were not given out, and thaws what no state holds.
func FuzzSealedState(f *testing.F) {
	s, of := testSealer(f), digest.Of("tool", "t")
	sealed, err := s.Seal(f.Context(), []byte(`{"at":1,"spent":0,"steps":{"a":{"$bytes":"AA=="}},"locals":{"x":1},"done":{"q":null}}`), of, time.Now().Add(time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, uint16(0), byte(0))
	f.Add(sealed, uint16(40), byte(0x20))
	f.Add(sealed[:len(sealed)-1], uint16(3), byte(1))
	f.Add("", uint16(0), byte(0))
	f.Add("10000000000000000.000000", uint16(0), byte(0))
	f.Add(`{"at":0,"steps":{}}`, uint16(0), byte(0))
	f.Add(`{"at":-1,"spent":1.5,"steps":{"$float":"NaN"},"locals":[],"done":7,"input":{}}`, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, forged string, at uint16, bit byte) {
		if b := []byte(forged); len(b) > 0 {
			b[int(at)%len(b)] ^= bit
			forged = string(b)
		}
		if forged == sealed {
			return
		}
		if _, err := s.Open(t.Context(), forged, of); !isInvalidState(err) {
			t.Fatalf("%q: %v", forged, err)
		}
		v, err := Thaw([]byte(forged), unlimited)
		if err != nil {
			return
		}
		frozen, err := AppendFrozen(nil, v)
		if err != nil {
			return
		}
		if again, err := Thaw(frozen, unlimited); err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
			t.Fatalf("%q: %#v became %#v (%v)", forged, v, again, err)
		}
	})
}

// lazy is an encoded value.
type lazy string

func (l lazy) AppendJSON(dst []byte) []byte { return append(dst, l...) }
func (l lazy) Value() (any, error)          { return value.Decode([]byte(l)) }

func isInvalidState(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Message == mcp.InvalidState().Message
}

// unlimited reserves memory where there is no limit.
func unlimited(int64) error { return nil }
