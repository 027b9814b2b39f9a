package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// parse reads the answer to a call, which is JSON, or the last event of a stream.
func parse(res *http.Response, answer []byte) (*reply, error) {
	if !utf8.Valid(answer) {
		return nil, fmt.Errorf("the answer is not UTF-8: %q", answer)
	}
	answer = lastMessage(res, answer)
	var m struct {
		Result *reply
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(answer, &m); err != nil {
		return nil, fmt.Errorf("%s, %w: %s", res.Status, err, answer)
	}
	switch {
	case m.Error != nil:
		return &reply{refused: fmt.Sprintf("%d: %s", m.Error.Code, m.Error.Message)}, nil
	case m.Result == nil:
		return nil, fmt.Errorf("%s without a result: %s", res.Status, answer)
	}
	return m.Result, nil
}

// lastMessage returns the JSON of a response, or of the last event of its stream.
func lastMessage(res *http.Response, answer []byte) []byte {
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		for line := range bytes.Lines(answer) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				answer = data
			}
		}
	}
	return answer
}
