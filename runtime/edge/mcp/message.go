package mcp

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
)

// Message is one JSON-RPC message, split but not decoded. Every slice aliases the text it was read
// from and is nil if the member is absent. Members that no method uses are checked and dropped.
type Message struct {
	version, ID, Method, params, Result, Failure []byte

	// Members of params.
	name, URI, arguments, inputResponses, requestState, meta []byte

	// Members of params._meta.
	metaVersion, metaClient, metaCapabilities, metaLevel, progressToken []byte

	Invalid string // why this JSON is not a JSON-RPC message, or ""
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

// IsRequest reports whether m needs a reply.
func (m *Message) IsRequest() bool { return m.Method != nil && m.ID != nil }

// IsResponse reports whether m answers a request of the server.
func (m *Message) IsResponse() bool { return m.Method == nil }

// subject returns the member of params that names what the request is about, and its value. The
// name is empty if the method has no such member.
func (m *Message) subject() (member string, value []byte) {
	switch string(m.Method) {
	case "tools/call", "prompts/get":
		return "name", m.name
	case "resources/read":
		return "uri", m.URI
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId", m.Param("taskId")
	}
	return "", nil
}

// subjectName returns the decoded value of subject, which the method requires.
func (m *Message) subjectName() (string, *Error) {
	member, value := m.subject()
	return StringParam(member, value)
}

// AppendRequest appends a request.
func (m *Message) AppendRequest(dst []byte) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.ID...), `,"method":`...)
	dst = append(jsonscan.AppendString(dst, m.Method), `,"params":`...)
	return append(append(dst, m.params...), '}')
}

// StringParam decodes a member of params that must be a string.
func StringParam(member string, value []byte) (string, *Error) {
	s, ok := jsonscan.Text(value)
	if !ok {
		return "", InvalidParams("params.%s must be a string", member)
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
		return InvalidParams("%s has %d bytes, and a URI may have at most %d", name, len(uri), maxURI)
	}
	return nil
}

// IsObject reports whether a scanned value is an object.
func IsObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// Packet is the content of one POST or one line: one message, or a batch.
type Packet struct {
	Messages []Message
	Batch    bool
	single   [1]Message
	scan     jsonscan.Scanner
}

// RequestIDs returns the ids of the requests as an encoded array.
func (p *Packet) RequestIDs() []byte {
	ids := []byte{'['}
	for i := range p.Messages {
		if m := &p.Messages[i]; m.IsRequest() {
			if len(ids) > 1 {
				ids = append(ids, ',')
			}
			ids = append(ids, m.ID...)
		}
	}
	return append(ids, ']')
}

// JoinReplies returns the array of the replies that are not nil; nil if there is none.
func JoinReplies(replies [][]byte) []byte {
	replies = slices.DeleteFunc(replies, func(reply []byte) bool { return reply == nil })
	if len(replies) == 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(replies, []byte{','})...), ']')
}

// maxBatch is the maximum number of messages in a batch. A message in progress takes far more
// memory than its text.
const maxBatch = 100

var packets = sync.Pool{New: func() any { return new(Packet) }}

// Release returns p to the pool. Its messages must not be used afterwards.
func (p *Packet) Release() {
	p.single[0] = Message{}
	p.Messages = nil
	p.scan.Reset(nil, 0)
	packets.Put(p)
}

// byteOrderMark may precede a message: shells of Windows write one, and RFC 8259 lets a reader ignore it.
const byteOrderMark = "\ufeff"

// Parse splits data, which must not change until the packet is released. The error is a
// *jsonscan.SyntaxError.
func Parse(data []byte, maxDepth int) (*Packet, error) {
	p := packets.Get().(*Packet)
	p.scan.Reset(bytes.TrimPrefix(data, []byte(byteOrderMark)), maxDepth)
	if err := p.read(); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

func (p *Packet) read() error {
	p.Batch = p.scan.Peek() == '['
	err := p.readMessages(&p.scan)
	if err == nil && !p.scan.AtEnd() {
		err = p.scan.Fail("more text after the message")
	}
	return err
}

func (p *Packet) readMessages(s *jsonscan.Scanner) error {
	if !p.Batch {
		p.Messages = p.single[:]
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
		if len(p.Messages) == maxBatch {
			return s.Fail(fmt.Sprintf("more than %d messages in one batch", maxBatch))
		}
		p.Messages = append(p.Messages, Message{})
		if err := p.Messages[len(p.Messages)-1].read(s); err != nil {
			return err
		}
	}
}

func (m *Message) read(s *jsonscan.Scanner) error {
	if s.Peek() != '{' {
		m.Invalid = "a message must be a JSON object"
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
type slotFunc func(m *Message, key []byte) (slot *[]byte, members slotFunc)

// readMembers reads an object.
func (m *Message) readMembers(s *jsonscan.Scanner, slotOf slotFunc) error {
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

func messageSlot(m *Message, key []byte) (slot *[]byte, members slotFunc) {
	switch string(key) {
	case "jsonrpc":
		return &m.version, nil
	case "id":
		return &m.ID, nil
	case "method":
		return &m.Method, nil
	case "params":
		return &m.params, paramSlot
	case "result":
		return &m.Result, nil
	case "error":
		return &m.Failure, nil
	}
	return nil, nil
}

// paramSlot keeps the members of params that calls have. The methods that are called less often
// look up theirs with param.
func paramSlot(m *Message, key []byte) (slot *[]byte, members slotFunc) {
	switch string(key) {
	case "name":
		return &m.name, nil
	case "uri":
		return &m.URI, nil
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

func metaSlot(m *Message, key []byte) (slot *[]byte, members slotFunc) {
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

// Param returns a member of params that no field keeps, or nil.
func (m *Message) Param(name string) []byte {
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
func (m *Message) validate() {
	if problem := checkID(m.ID); problem != "" {
		m.ID, m.Invalid = nil, "id "+problem
		return
	}
	switch {
	case string(m.version) != `"2.0"`:
		m.Invalid = `jsonrpc must be "2.0"`
	case m.Method != nil:
		if len(m.Method) < 3 || m.Method[0] != '"' {
			m.Invalid = "method must be a non-empty string"
			return
		}
		m.Method = m.Method[1 : len(m.Method)-1]
		if bytes.IndexByte(m.Method, '\\') >= 0 {
			m.Method = jsonscan.Unescape(nil, m.Method)
		}
		if m.params != nil && m.params[0] != '{' && string(m.params) != "null" {
			m.Invalid = "params must be an object"
		}
	case m.ID == nil || (m.Result == nil) == (m.Failure == nil):
		m.Invalid = "a message must have a method, or an id and either a result or an error"
	}
}
