package mcp

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
)

// message is one JSON-RPC message, split but not decoded. Every slice aliases the text it was read
// from and is nil if the member is absent. Members that no method uses are checked and dropped.
type message struct {
	version, id, method, params, result, failure []byte

	// Members of params.
	name, uri, taskID, arguments, cursor, meta, protocolVersion, capabilities, clientInfo []byte
	requestID, level, notifications, inputResponses, requestState, ref, argument, context []byte

	// Members of params._meta.
	metaVersion, metaClient, metaCapabilities, metaLevel, progressToken []byte

	invalid string // why this JSON is not a JSON-RPC message, or ""
}

// The keys of _meta that this package uses.
const (
	keyProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	keyClientInfo         = "io.modelcontextprotocol/clientInfo"
	keyClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	keyServerInfo         = "io.modelcontextprotocol/serverInfo"
	keyLogLevel           = "io.modelcontextprotocol/logLevel"
	keySubscriptionID     = "io.modelcontextprotocol/subscriptionId"
)

// isRequest reports whether m needs a reply.
func (m *message) isRequest() bool { return m.method != nil && m.id != nil }

// isResponse reports whether m answers a request of the server.
func (m *message) isResponse() bool { return m.method == nil }

// subject returns the member of params that names what the request is about, and its value. The
// name is empty if the method has no such member.
func (m *message) subject() (member string, value []byte) {
	switch string(m.method) {
	case "tools/call", "prompts/get":
		return "name", m.name
	case "resources/read":
		return "uri", m.uri
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId", m.taskID
	}
	return "", nil
}

// subjectName returns the decoded value of subject, which the method requires.
func (m *message) subjectName() (string, *Error) {
	member, value := m.subject()
	return stringParam(member, value)
}

// stringParam decodes a member of params that must be a string.
func stringParam(member string, value []byte) (string, *Error) {
	s, ok := jsonscan.Text(value)
	if !ok {
		return "", errorf(CodeInvalidParams, "params.%s must be a string", member)
	}
	return s, nil
}

// isObject reports whether a scanned value is an object.
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// packet is the content of one POST or one line: one message, or a batch.
type packet struct {
	messages []message
	batch    bool
	single   [1]message
	scan     jsonscan.Scanner
}

// maxBatch is the maximum number of messages in a batch. A message in progress takes far more
// memory than its text.
const maxBatch = 100

var packets = sync.Pool{New: func() any { return new(packet) }}

// release returns p to the pool. Its messages must not be used afterwards.
func (p *packet) release() {
	p.single[0] = message{}
	p.messages = nil
	p.scan.Reset(nil, 0)
	packets.Put(p)
}

// parse splits data, which must not change until the packet is released. The error is a
// *jsonscan.SyntaxError.
func parse(data []byte, maxDepth int) (*packet, error) {
	p := packets.Get().(*packet)
	p.scan.Reset(data, maxDepth)
	if err := p.read(); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

func (p *packet) read() error {
	s := &p.scan
	p.batch = s.Peek() == '['
	if err := p.readMessages(s); err != nil {
		return err
	}
	if !s.AtEnd() {
		return s.Fail("more text after the message")
	}
	return nil
}

func (p *packet) readMessages(s *jsonscan.Scanner) error {
	if !p.batch {
		p.messages = p.single[:]
		return p.single[0].read(s)
	}
	if err := s.EnterArray(); err != nil {
		return err
	}
	for {
		more, err := s.NextElement()
		if err != nil || !more {
			return err
		}
		if len(p.messages) == maxBatch {
			return s.Fail(fmt.Sprintf("more than %d messages in one batch", maxBatch))
		}
		p.messages = append(p.messages, message{})
		if err := p.messages[len(p.messages)-1].read(s); err != nil {
			return err
		}
	}
}

func (m *message) read(s *jsonscan.Scanner) error {
	if s.Peek() != '{' {
		m.invalid = "a message must be a JSON object"
		_, err := s.Value()
		return err
	}
	mark, err := s.EnterObject()
	for err == nil {
		var key []byte
		if key, err = s.Key(mark); key == nil {
			break
		}
		var slot *[]byte
		switch string(key) {
		case "jsonrpc":
			slot = &m.version
		case "id":
			slot = &m.id
		case "method":
			slot = &m.method
		case "params":
			err = m.readParams(s)
			continue
		case "result":
			slot = &m.result
		case "error":
			slot = &m.failure
		}
		err = readValue(s, slot)
	}
	if err == nil {
		m.validate()
	}
	return err
}

// readValue reads a value into slot, or drops it if slot is nil.
func readValue(s *jsonscan.Scanner, slot *[]byte) error {
	v, err := s.Value()
	if slot != nil {
		*slot = v
	}
	return err
}

func (m *message) readParams(s *jsonscan.Scanner) error {
	c := s.Peek()
	start := s.Pos()
	if c != '{' {
		v, err := s.Value()
		if string(v) != "null" {
			m.params = v
		}
		return err
	}
	mark, err := s.EnterObject()
	for err == nil {
		var key []byte
		if key, err = s.Key(mark); key == nil {
			break
		}
		if string(key) == "_meta" {
			err = m.readMeta(s)
			continue
		}
		err = readValue(s, m.paramSlot(key))
	}
	m.params = s.Since(start)
	return err
}

func (m *message) paramSlot(key []byte) *[]byte {
	switch string(key) {
	case "name":
		return &m.name
	case "uri":
		return &m.uri
	case "taskId":
		return &m.taskID
	case "arguments":
		return &m.arguments
	case "cursor":
		return &m.cursor
	case "protocolVersion":
		return &m.protocolVersion
	case "capabilities":
		return &m.capabilities
	case "clientInfo":
		return &m.clientInfo
	case "requestId":
		return &m.requestID
	case "level":
		return &m.level
	case "notifications":
		return &m.notifications
	case "ref":
		return &m.ref
	case "argument":
		return &m.argument
	case "context":
		return &m.context
	case "inputResponses":
		return &m.inputResponses
	case "requestState":
		return &m.requestState
	}
	return nil
}

func (m *message) readMeta(s *jsonscan.Scanner) error {
	c := s.Peek()
	start := s.Pos()
	if c != '{' {
		return readValue(s, &m.meta)
	}
	mark, err := s.EnterObject()
	for err == nil {
		var key []byte
		if key, err = s.Key(mark); key == nil {
			break
		}
		var slot *[]byte
		switch string(key) {
		case keyProtocolVersion:
			slot = &m.metaVersion
		case keyClientInfo:
			slot = &m.metaClient
		case keyClientCapabilities:
			slot = &m.metaCapabilities
		case keyLogLevel:
			slot = &m.metaLevel
		case "progressToken":
			slot = &m.progressToken
		}
		err = readValue(s, slot)
	}
	m.meta = s.Since(start)
	return err
}

// maxIDLength is the maximum length of an id or a progress token in bytes. They are repeated in
// every message about a request.
const maxIDLength = 1 << 10

// checkID returns why a scanned value cannot be an id or a progress token, or "".
func checkID(value []byte) string {
	switch {
	case len(value) > maxIDLength:
		return "is longer than " + strconv.Itoa(maxIDLength) + " bytes"
	case value != nil && value[0] != '"' && value[0] != '-' && (value[0] < '0' || value[0] > '9'):
		return "must be a string or a number"
	}
	return ""
}

// validate sets m.invalid if m is not a JSON-RPC message. An id that cannot be echoed is dropped.
func (m *message) validate() {
	if problem := checkID(m.id); problem != "" {
		m.id, m.invalid = nil, "id "+problem
		return
	}
	switch {
	case string(m.version) != `"2.0"`:
		m.invalid = `jsonrpc must be "2.0"`
	case m.method != nil:
		if len(m.method) < 3 || m.method[0] != '"' {
			m.invalid = "method must be a non-empty string"
			return
		}
		m.method = m.method[1 : len(m.method)-1]
		if bytes.IndexByte(m.method, '\\') >= 0 {
			m.method = jsonscan.Unescape(nil, m.method)
		}
		if m.params != nil && m.params[0] != '{' {
			m.invalid = "params must be an object"
		}
	case m.id == nil || (m.result == nil) == (m.failure == nil):
		m.invalid = "a message must have a method, or an id and either a result or an error"
	}
}
