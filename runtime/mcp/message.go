package mcp

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
)

// message is one JSON-RPC message, cut but not decoded: every slice aliases the text it was read from, and is nil where the
// member is absent. Members that no method here reads are checked like all others and dropped.
type message struct {
	version, id, method, params, result, failure []byte

	// Members of params.
	name, uri, taskID, arguments, cursor, meta, protocolVersion, capabilities, clientInfo, requestID, level, notifications []byte
	inputResponses, requestState                                                                                           []byte
	ref, argument, context                                                                                                 []byte

	// Members of params._meta.
	metaVersion, metaClient, metaCapabilities, metaLevel, progressToken []byte

	invalid string // why this is JSON but no JSON-RPC message; empty when it is one
}

// The keys of _meta that this package knows.
const (
	keyProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	keyClientInfo         = "io.modelcontextprotocol/clientInfo"
	keyClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	keyServerInfo         = "io.modelcontextprotocol/serverInfo"
	keyLogLevel           = "io.modelcontextprotocol/logLevel"
	keySubscriptionID     = "io.modelcontextprotocol/subscriptionId"
)

// isRequest reports whether an answer is due.
func (m *message) isRequest() bool { return m.method != nil && m.id != nil }

// isResponse reports whether m answers a request of ours.
func (m *message) isResponse() bool { return m.method == nil }

// subject returns the member of params that says what the request is about, and its name; an empty name when the method has no such member.
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

// about returns what a request is about whose method says so in params.
func (m *message) about() (string, *Error) {
	member, value := m.subject()
	name, ok := jsonscan.Text(value)
	if !ok {
		return "", errorf(CodeInvalidParams, "params.%s must be a string", member)
	}
	return name, nil
}

// packet is what one POST or one line carries: a message, or several in an array.
type packet struct {
	messages []message
	batch    bool
	one      [1]message
	scan     jsonscan.Scanner
}

// mostMessages is how long a batch may be. What a message costs while it is being answered is far more than its text.
const mostMessages = 100

var packets = sync.Pool{New: func() any { return new(packet) }}

// release gives the packet back. Nothing cut from it may be used afterwards.
func (p *packet) release() {
	p.one[0] = message{}
	p.messages = nil
	p.scan.Reset(nil, 0)
	packets.Put(p)
}

// parse reads a packet from data, which must stay as it is until release. The error is a *scanError.
func parse(data []byte, depth int) (*packet, error) {
	p := packets.Get().(*packet)
	p.scan.Reset(data, depth)
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
		p.messages = p.one[:]
		return p.one[0].read(s)
	}
	if err := s.EnterArray(); err != nil {
		return err
	}
	for {
		more, err := s.NextElement()
		if err != nil || !more {
			return err
		}
		if len(p.messages) == mostMessages {
			return s.Fail(fmt.Sprintf("more than %d messages in one batch", mostMessages))
		}
		p.messages = append(p.messages, message{})
		if err := p.messages[len(p.messages)-1].read(s); err != nil {
			return err
		}
	}
}

func (m *message) read(s *jsonscan.Scanner) error {
	if s.Peek() != '{' {
		m.invalid = "a message is a JSON object"
		_, err := s.Value()
		return err
	}
	base, err := s.EnterObject()
	for err == nil {
		var key []byte
		if key, err = s.Key(base); key == nil {
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
		err = readInto(s, slot)
	}
	if err == nil {
		m.check()
	}
	return err
}

// into reads a value and keeps it in slot, if there is one.
func readInto(s *jsonscan.Scanner, slot *[]byte) error {
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
	base, err := s.EnterObject()
	for err == nil {
		var key []byte
		if key, err = s.Key(base); key == nil {
			break
		}
		var slot *[]byte
		switch string(key) {
		case "name":
			slot = &m.name
		case "uri":
			slot = &m.uri
		case "taskId":
			slot = &m.taskID
		case "arguments":
			slot = &m.arguments
		case "cursor":
			slot = &m.cursor
		case "protocolVersion":
			slot = &m.protocolVersion
		case "capabilities":
			slot = &m.capabilities
		case "clientInfo":
			slot = &m.clientInfo
		case "requestId":
			slot = &m.requestID
		case "level":
			slot = &m.level
		case "notifications":
			slot = &m.notifications
		case "ref":
			slot = &m.ref
		case "argument":
			slot = &m.argument
		case "context":
			slot = &m.context
		case "inputResponses":
			slot = &m.inputResponses
		case "requestState":
			slot = &m.requestState
		case "_meta":
			err = m.readMeta(s)
			continue
		}
		err = readInto(s, slot)
	}
	m.params = s.Since(start)
	return err
}

func (m *message) readMeta(s *jsonscan.Scanner) error {
	c := s.Peek()
	start := s.Pos()
	if c != '{' {
		return readInto(s, &m.meta)
	}
	base, err := s.EnterObject()
	for err == nil {
		var key []byte
		if key, err = s.Key(base); key == nil {
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
		err = readInto(s, slot)
	}
	m.meta = s.Since(start)
	return err
}

// longestID is how many bytes an id or a progress token may have: they are repeated in everything that is said of a request.
const longestID = 1 << 10

// unfitID says why a scanned value is no id or progress token; it is empty when it is one, or absent.
func unfitID(raw []byte) string {
	switch {
	case len(raw) > longestID:
		return "is longer than " + strconv.Itoa(longestID) + " bytes"
	case raw != nil && raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		return "must be a string or a number"
	}
	return ""
}

// check decides whether what was read is a JSON-RPC message. An id that cannot be echoed is dropped.
func (m *message) check() {
	if why := unfitID(m.id); why != "" {
		m.id, m.invalid = nil, "id "+why
		return
	}
	switch {
	case string(m.version) != `"2.0"`:
		m.invalid = `jsonrpc must be "2.0"`
	case m.method != nil:
		if len(m.method) < 3 || m.method[0] != '"' {
			m.invalid = "method must be a string that is not empty"
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
		m.invalid = "a message has a method, or an id and either a result or an error"
	}
}

// holdsTexts reports whether a scanned value is an object and every member of it a string.
func holdsTexts(object []byte) bool {
	s := jsonscan.New(object, len(object))
	if s.Peek() != '{' {
		return false
	}
	mark, err := s.EnterObject()
	for err == nil {
		key, bad := s.Key(mark)
		if bad != nil || key == nil {
			return bad == nil
		}
		if s.Peek() != '"' {
			return false
		}
		_, err = s.Value()
	}
	return false
}

// texts returns the elements of a scanned value, each once, when it is an array and every element a string.
func texts(array []byte) (all []string, ok bool) {
	s := jsonscan.New(array, len(array))
	if s.Peek() != '[' || s.EnterArray() != nil {
		return nil, false
	}
	seen := make(map[string]bool)
	for {
		more, err := s.NextElement()
		if err != nil || !more {
			return all, err == nil
		}
		if s.Peek() != '"' {
			return nil, false
		}
		v, err := s.Text()
		if err != nil {
			return nil, false
		}
		if !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
}
