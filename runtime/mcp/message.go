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
	name, uri, arguments, inputResponses, requestState, meta []byte

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
		return "taskId", m.param("taskId")
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
		return "", invalidParams("params.%s must be a string", member)
	}
	if member == "uri" {
		return s, checkURI("params.uri", s)
	}
	return s, nil
}

// maxURI is how many bytes the URI of a resource or its template has, as in the request lines of web servers. Errors
// and subscriptions repeat it.
const maxURI = 8 << 10

// checkURI refuses a URI that is too long. Name is that of the member that holds it.
func checkURI(name, uri string) *Error {
	if len(uri) > maxURI {
		return invalidParams("%s has %d bytes, and a URI may have at most %d", name, len(uri), maxURI)
	}
	return nil
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

// requestIDs returns the ids of the requests as an encoded array.
func (p *packet) requestIDs() []byte {
	ids := []byte{'['}
	for i := range p.messages {
		if m := &p.messages[i]; m.isRequest() {
			if len(ids) > 1 {
				ids = append(ids, ',')
			}
			ids = append(ids, m.id...)
		}
	}
	return append(ids, ']')
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
	p.batch = p.scan.Peek() == '['
	err := p.readMessages(&p.scan)
	if err == nil && !p.scan.AtEnd() {
		err = p.scan.Fail("more text after the message")
	}
	return err
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
	err := m.readMembers(s, messageSlot)
	if err == nil {
		m.validate()
	}
	return err
}

// slotFunc returns where the value of a member is kept, or nil to drop it. If the member is an
// object whose members are kept, too, it also returns where.
type slotFunc func(m *message, key []byte) (slot *[]byte, members slotFunc)

// readMembers reads an object.
func (m *message) readMembers(s *jsonscan.Scanner, slotOf slotFunc) error {
	mark, err := s.EnterObject()
	for err == nil {
		var key, value []byte
		if key, err = s.Key(mark); key == nil {
			break
		}
		slot, members := slotOf(m, key)
		if members != nil && s.Peek() == '{' {
			start := s.Pos()
			err = m.readMembers(s, members)
			value = s.Since(start)
		} else {
			value, err = s.Value()
		}
		if slot != nil {
			*slot = value
		}
	}
	return err
}

func messageSlot(m *message, key []byte) (slot *[]byte, members slotFunc) {
	switch string(key) {
	case "jsonrpc":
		return &m.version, nil
	case "id":
		return &m.id, nil
	case "method":
		return &m.method, nil
	case "params":
		return &m.params, paramSlot
	case "result":
		return &m.result, nil
	case "error":
		return &m.failure, nil
	}
	return nil, nil
}

// paramSlot keeps the members of params that calls have. The methods that are called less often
// look up theirs with param.
func paramSlot(m *message, key []byte) (slot *[]byte, members slotFunc) {
	switch string(key) {
	case "name":
		return &m.name, nil
	case "uri":
		return &m.uri, nil
	case "arguments":
		return &m.arguments, nil
	case "inputResponses":
		return &m.inputResponses, nil
	case "requestState":
		return &m.requestState, nil
	case "_meta":
		return &m.meta, metaSlot
	}
	return nil, nil
}

func metaSlot(m *message, key []byte) (slot *[]byte, members slotFunc) {
	switch string(key) {
	case keyProtocolVersion:
		return &m.metaVersion, nil
	case keyClientInfo:
		return &m.metaClient, nil
	case keyClientCapabilities:
		return &m.metaCapabilities, nil
	case keyLogLevel:
		return &m.metaLevel, nil
	case "progressToken":
		return &m.progressToken, nil
	}
	return nil, nil
}

// param returns a member of params that no field keeps, or nil.
func (m *message) param(name string) []byte {
	value, _ := jsonscan.Lookup(m.params, name)
	return value
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
		if m.params != nil && m.params[0] != '{' && string(m.params) != "null" {
			m.invalid = "params must be an object"
		}
	case m.id == nil || (m.result == nil) == (m.failure == nil):
		m.invalid = "a message must have a method, or an id and either a result or an error"
	}
}
