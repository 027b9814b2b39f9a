package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Limits of one message.
const (
	maxMessage = 8 << 20 // bytes
	maxHeader  = 4 << 10 // bytes of a header line
	maxHeaders = 16      // lines
)

// message is one message of JSON-RPC: a request, a notification, or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // a number or a string; absent in a notification
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *responseError  `json:"error,omitempty"`
}

// responseError is the error of a response.
type responseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *responseError) Error() string { return e.Message }

// Codes of errors, of JSON-RPC and of the protocol.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotInitialized = -32002
	codeCancelled      = -32800
	codeRequestFailed  = -32803
)

// failf returns an error that an editor shows to its user.
func failf(format string, args ...any) *responseError {
	return &responseError{codeRequestFailed, fmt.Sprintf(format, args...)}
}

// errFrame is the error of a stream whose messages can no longer be told apart.
var errFrame = errors.New("the stream is not framed by Content-Length headers")

// readFrame reads one message. A message that is too large is skipped, with a *responseError; any other error ends the
// stream.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := -1
	for range maxHeaders {
		line, err := readHeaderLine(r)
		if err != nil {
			return nil, err
		}
		if line == "" {
			if length < 0 {
				return nil, errFrame
			}
			return readBody(r, length)
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, errFrame
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			length, err = strconv.Atoi(strings.TrimSpace(value))
			if err != nil || length < 0 {
				return nil, errFrame
			}
		}
	}
	return nil, errFrame
}

// readHeaderLine reads a line of the header, without its end.
func readHeaderLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return "", err
		}
		if line = append(line, part...); len(line) > maxHeader {
			return "", errFrame
		}
		if !more {
			return string(line), nil
		}
	}
}

func readBody(r *bufio.Reader, length int) ([]byte, error) {
	if length > maxMessage {
		if _, err := io.CopyN(io.Discard, r, int64(length)); err != nil {
			return nil, err
		}
		return nil, &responseError{codeInvalidRequest, fmt.Sprintf("the message has %d bytes, and a message may have "+
			"at most %d", length, maxMessage)}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

// writer writes messages. It is safe for concurrent use.
type writer struct {
	mu  sync.Mutex
	out io.Writer
	err error // of the first write that failed; guarded by mu
}

// write writes one message.
func (w *writer) write(m *message) {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.err == nil {
		_, err = w.out.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	}
	if w.err == nil {
		w.err = err
	}
}
