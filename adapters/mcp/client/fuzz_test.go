package client

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzFrames reads texts as messages. What is accepted is JSON, and an answer is found by its id only.
func FuzzFrames(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":"1-00","result":{"content":[],"isError":true}}`, `{"id":1,"error":{"code":-1,"message":"m"}}`,
		`[{"method":"ping","id":2},{"method":"notifications/x","params":{"a":[1]}}]`, `{"id":"1-00","result":1}`,
		`{"method":"a","result":{}}`, `{"id":null,"error":{}}`, `[]`, `[1]`, `{"id":"\u0031-00","result":{}}`, `{}{}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse([]byte(text))
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is accepted", text)
		}
		for _, m := range list {
			kinds := 0
			for _, has := range []bool{m.method != "", m.result != nil, m.rpc != nil} {
				if has {
					kinds++
				}
			}
			if kinds != 1 {
				t.Fatalf("%q is %d kinds of messages", text, kinds)
			}
			if m.isAnswerTo("1-00") != (m.method == "" && string(m.id) == `"1-00"`) {
				t.Fatalf("%q is taken for an answer", text)
			}
			for _, part := range append([][]byte{m.params, m.result, m.id}, values(m)...) {
				if part != nil && !json.Valid(part) {
					t.Fatalf("%q has the part %q", text, part)
				}
			}
		}
	})
}

func values(m *message) (list [][]byte) {
	for _, member := range m.members {
		list = append(list, member.Value)
	}
	return list
}

// FuzzEvents reads texts as streams of events, whole and byte by byte, with the same result.
func FuzzEvents(f *testing.F) {
	for _, text := range []string{
		"data: a\n\n", "id: 1\r\nretry: 5\r\ndata: a\r\ndata: b\r\n\r\n", "\ufeffdata:a\r\rdata: b\r\r", ": comment\n\ndata\n\n",
		"event: x\ndata: a", "data: " + strings.Repeat("x", 100) + "\n\n", "id: a\x00b\ndata: a\n\n", "\n\r\n\r\r",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, wholeID, wholeErr := readAllEvents(strings.NewReader(text))
		parts, partsID, partsErr := readAllEvents(iotest.OneByteReader(strings.NewReader(text)))
		if !bytes.Equal(whole, parts) || wholeID != partsID || wholeErr.Error() != partsErr.Error() {
			t.Fatalf("%q: %q %q %v, byte by byte %q %q %v", text, whole, wholeID, wholeErr, parts, partsID, partsErr)
		}
	})
}

// readAllEvents returns the data of all events, the last id, and why the stream ended.
func readAllEvents(r io.Reader) (data []byte, lastID string, err error) {
	const maxEvent = 64
	e := newEventReader(r, maxEvent, func(int) error { return nil })
	defer e.release()
	for {
		ev, err := e.next()
		if err != nil {
			return data, e.lastID, err
		}
		if len(ev.data) > maxEvent {
			panic("an event is too large")
		}
		data = append(append(data, ev.data...), 0)
	}
}
