package main

import (
	"strings"
	"testing"
	"time"
)

func TestEventsArePrintedAsLines(t *testing.T) {
	time.Local = time.UTC
	const at = `"id":"abc-1","time":"2026-11-23T14:12:58.317663Z"`
	for text, want := range map[string]string{
		`{` + at + `,"type":"tool_call","tool":"refund","input":{"amount":250},"caller":{"subject":"bob","client":"agent 2"}}`: `14:12:58 tool_call          refund by bob (agent 2) {"amount":250}`,
		`{` + at + `,"type":"tool_result","tool":"refund","outcome":"failed","ms":31.25,"error":"It failed.\nMore."}`:          `14:12:58 tool_result        refund failed 31.25 ms – It failed.`,
		`{` + at + `,"type":"tool_step","tool":"refund","step":"sql","kind":"sql","outcome":"ok","ms":3,"rows":12}`:            `14:12:58 tool_step          refund sql ok 3 ms 12 rows`,
		`{` + at + `,"type":"tool_result","tool":"score","outcome":"partial","failed":1,"of":3,"ms":2,"error":"ben: no."}`:     `14:12:58 tool_result        score partial 2 ms 1 of 3 failed – ben: no.`,
		`{` + at + `,"type":"gap","lost":3}`: `14:12:58 gap                3 events lost`,
		`{` + at + `,"type":"gap"}`:          `14:12:58 gap                events are missing here`,
		`{` + at + `,"type":"connection","connection":"http.shop","state":"down","message":"evil \u001b[2J\u202e"}`: `14:12:58 connection         http.shop down – evil  [2J `,
		`{` + at + `,"type":"refused","tool":"refund","reason":"policy","subject":"bob","count":4}`:                 `14:12:58 refused            refund policy 4 times by bob`,
	} {
		var out strings.Builder
		if err := printEvent(&out, []byte(text)); err != nil || out.String() != want+"\n" {
			t.Errorf("%s\n got %q\nwant %q %v", text, out.String(), want, err)
		}
	}
	if err := printEvent(&strings.Builder{}, []byte("<html>")); err == nil {
		t.Error("a line that is no event is printed")
	}
}
