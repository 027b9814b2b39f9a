package test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/mock"
	"hatchel/hcl/value"
)

// Live says how a test uses the real backends for requests that no mock answers.
type Live struct {
	Writes bool // also asks for what may change something, such as a POST, an exec or a program
	Record bool // records requests and answers; existing tapes are not read
}

// Tape is a recording of the requests of a test to real backends, and of their answers. Content is nil if the tape must
// not be written; Reason says why.
type Tape struct {
	Kind, Connection string
	Name             string // of the file; empty where no mock names it
	Content          []byte
	Exchanges        int
	Reason           string
}

// Live implements adapters.Mocks.
func (m *Mocks) Live(writes bool) bool { return m.live != nil && (m.live.Writes || !writes) }

// refuseWrite returns an error if a request may change something and Live.Writes is not set.
func (m *Mocks) refuseWrite(q *question) error {
	if m.Live(!q.ReadOnly) {
		return nil
	}
	m.incomplete = cmp.Or(m.incomplete, q.name+" was not sent")
	m.problems = append(m.problems, Problem{Summary: "Not sent", Detail: fmt.Sprintf("%s may change something, and "+
		"--live sends only requests that read. Mock it, or allow it with --allow-writes.", q.name)})
	return &adapters.Fault{Message: "the test may not ask " + q.name + " for real"}
}

// IsRecording implements adapters.Mocks.
func (m *Mocks) IsRecording() bool { return m.live != nil && m.live.Record }

// Record implements adapters.Mocks.
func (m *Mocks) Record(q *mock.Question, reply map[string]any) {
	if !m.IsRecording() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorded = append(m.recorded, &exchange{kind: q.Kind, connection: q.Connection, request: q.Taped(), reply: reply,
		secrets: q.Secrets})
}

// FailRecording implements adapters.Mocks.
func (m *Mocks) FailRecording(secrets []string, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.incomplete = cmp.Or(m.incomplete, m.hide(fmt.Sprintf(format, args...), secrets))
}

// Tapes returns the recordings: a tape for each file that mocks name, and for each other connection. It must be called
// after the call has ended.
func (m *Mocks) Tapes() []*Tape {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.IsRecording() {
		return nil
	}
	var tapes []*Tape
	contents := map[string][]*exchange{} // by file, or by kind and connection
	keys := map[*Tape]string{}
	for _, x := range m.recorded {
		t := &Tape{Kind: x.kind, Connection: x.connection, Name: m.tapeOf(x)}
		key := t.Name
		if key == "" {
			key = x.kind + " " + x.connection
		}
		if contents[key] == nil {
			tapes, keys[t] = append(tapes, t), key
		}
		contents[key] = append(contents[key], x)
	}
	if tapes == nil && m.incomplete != "" {
		return []*Tape{{Name: m.soleTape(), Reason: m.incomplete}}
	}
	secrets, masked := m.allSecrets(), newStandIns(m.masks, m.kinds)
	for _, x := range m.recorded { // so that numbers follow the call, and not its tapes
		if _, err := masked.exchange(x); err != nil {
			m.incomplete = cmp.Or(m.incomplete, err.Error())
		}
	}
	for _, t := range tapes {
		exchanges := contents[keys[t]]
		t.Exchanges, t.Reason = len(exchanges), m.incomplete
		if t.Reason == "" {
			t.Content, t.Reason = m.encode(exchanges, secrets, masked)
		}
	}
	return tapes
}

// tapeOf returns the file that a mock names for an exchange, or nothing.
func (m *Mocks) tapeOf(x *exchange) string {
	for _, s := range m.mocks {
		if s.Tape != "" && s.Kind == x.kind && s.Connection == x.connection {
			return s.Tape
		}
	}
	return ""
}

// soleTape returns the file that the mocks name, or nothing if they name none or several.
func (m *Mocks) soleTape() (name string) {
	for _, s := range m.mocks {
		switch {
		case s.Tape == "" || s.Tape == name:
		case name != "":
			return ""
		default:
			name = s.Tape
		}
	}
	return name
}

// allSecrets returns the secrets of the test, and those that its exchanges have shown.
func (m *Mocks) allSecrets() []Secret {
	secrets := slices.Clone(m.secrets)
	for _, x := range m.recorded {
		for _, text := range x.secrets {
			secrets = append(secrets, Secret{Text: text})
		}
		secrets = credentials(credentials(secrets, x.request, false), x.reply, false)
	}
	return secrets
}

// encode returns the content of a tape without secrets, or why there is none.
func (m *Mocks) encode(exchanges []*exchange, secrets []Secret, masked *standIns) (content []byte, reason string) {
	ofReply := newHider(slices.Concat(secrets, masked.secrets), m.dir)
	h := newHider(secrets, m.dir)
	if m.masks != nil && m.masks.reveals {
		h = ofReply
	}
	hidden := make([]*exchange, len(exchanges))
	for i, x := range exchanges {
		x, err := masked.exchange(x)
		if err != nil {
			return nil, err.Error()
		}
		hidden[i] = &exchange{kind: x.kind, connection: x.connection, request: h.members(x.request),
			reply: ofReply.members(x.reply)}
		for _, part := range []any{hidden[i].request, hidden[i].reply} {
			if s, found := holdsValue(part, secrets); found {
				return nil, fmt.Sprintf("the value of %s would be in it, encoded in %s", secretName(s),
					m.describe(x, h))
			}
		}
	}
	content, err := m.encodeTape(hidden)
	for _, s := range secrets {
		if len(s.Text) > 0 && len(s.Text) < adapters.MinSecretLength && strings.Contains(string(content), s.Text) {
			return nil, fmt.Sprintf("the value of %s could be in it: it has fewer than %d bytes, and so short a text "+
				"is not hidden", secretName(s), adapters.MinSecretLength)
		}
	}
	if err == nil {
		_, err = m.decodeTape(content)
	}
	if err != nil {
		return nil, err.Error()
	}
	if s, found := holds(string(content), secrets, maxUnwrapped); found {
		return nil, fmt.Sprintf("the value of %s would be in it", secretName(s))
	}
	return content, ""
}

func secretName(s Secret) string {
	if s.Name == "" {
		return "a credential"
	}
	return s.Name
}

// holdsValue returns the first of the secrets that a value has at any depth.
func holdsValue(v any, secrets []Secret) (found Secret, ok bool) {
	switch v := v.(type) {
	case string:
		return holds(v, secrets, maxUnwrapped)
	case []any:
		for _, e := range v {
			if found, ok = holdsValue(e, secrets); ok {
				return found, true
			}
		}
	case map[string]any:
		for _, key := range value.Keys(v) {
			if found, ok = holds(key, secrets, maxUnwrapped); ok {
				return found, true
			}
			if found, ok = holdsValue(v[key], secrets); ok {
				return found, true
			}
		}
	}
	return Secret{}, false
}

// describe names what was asked in a sentence.
func (m *Mocks) describe(x *exchange, h *hider) string {
	var parts []string
	for _, name := range m.kinds.Mock(x.kind).Naming {
		texts, _ := mock.TextsOf(x.request[name])
		parts = append(parts, texts...)
	}
	return h.text(mock.OneLine(strings.Join(parts, " ")))
}

// useTape adds the exchanges of the tape that a mock names.
func (m *Mocks) useTape(s *state) {
	exchanges, err := m.readTape(s.Tape)
	if err != nil {
		detail := fmt.Sprintf("The tape %s is not valid: %v. hatchel test --live --record writes it.", s.Tape, err)
		if errors.Is(err, fs.ErrNotExist) {
			detail = fmt.Sprintf("There is no tape %s. hatchel test --live --record writes it.", s.Tape)
		}
		m.problems = append(m.problems, Problem{Summary: "Invalid tape", Detail: m.hide(detail, nil), Range: s.Range,
			Broken: true})
		return
	}
	for _, x := range exchanges {
		if x.kind == s.Kind && x.connection == s.Connection {
			m.mocks = append(m.mocks, &state{exchange: x, Mock: &mock.Mock{Kind: x.kind, Connection: x.connection,
				Times: 1, Range: s.Range, Replies: []map[string]any{x.reply}, Tape: s.Tape}})
		}
	}
}

// matchTape compares what is asked with an exchange of a tape.
func (m *Mocks) matchTape(c *mock.Matcher, q *question, x *exchange) {
	c.Hide = func(text string) string { return text }
	c.Part("the connection", x.connection == q.Connection, x.connection, q.Connection)
	asked := m.tapedWithoutSecrets(q)
	for _, name := range value.Keys(x.request) {
		got, ok := asked[name]
		if !ok {
			got = mock.Absent
		}
		c.Part(name, ok && value.Equal(x.request[name], got), x.request[name], got)
	}
	added := func(name string) bool {
		of := func(a mock.Argument) bool { return a.Name == name && a.Added }
		return slices.ContainsFunc(m.kinds.Mock(q.Kind).Asked(), of)
	}
	for _, name := range value.Keys(asked) {
		if _, ok := x.request[name]; !ok && !added(name) {
			c.Part(name, false, mock.Absent, asked[name])
		}
	}
}

// tapedWithoutSecrets returns what is asked as a tape has it.
func (m *Mocks) tapedWithoutSecrets(q *question) map[string]any {
	if q.taped == nil {
		secrets := slices.Clone(m.secrets)
		for _, text := range q.Secrets {
			secrets = append(secrets, Secret{Text: text})
		}
		taped := q.Taped()
		encoded, err := value.AppendJSON(nil, newHider(credentials(secrets, taped, false), m.dir).members(taped))
		var decoded any
		if err == nil {
			decoded, _ = value.Decode(encoded)
		}
		q.taped, _ = decoded.(map[string]any)
	}
	return q.taped
}

// unusedTapes reports the tapes with exchanges that were not asked.
func (m *Mocks) unusedTapes() (problems []Problem) {
	type unused struct {
		first *state
		n     int
	}
	byTape := map[hcl.Range]*unused{}
	var order []hcl.Range
	for _, s := range m.mocks {
		if s.exchange == nil || s.used > 0 {
			continue
		}
		if byTape[s.Range] == nil {
			byTape[s.Range], order = &unused{first: s}, append(order, s.Range)
		}
		byTape[s.Range].n++
	}
	for _, at := range order {
		u := byTape[at]
		problems = append(problems, Problem{Summary: "Unused tape", Range: at, Unused: true, Detail: fmt.Sprintf(
			"Of the tape %s, %s was not asked: %s. hatchel test --live --record records it again.", u.first.Tape,
			exchangesText(u.n), m.describe(u.first.exchange, newHider(nil, m.dir)))})
	}
	return problems
}

func exchangesText(n int) string {
	if n == 1 {
		return "one exchange"
	}
	return fmt.Sprintf("one of %d exchanges", n)
}
