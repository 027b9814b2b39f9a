package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// maxTape is the maximum size of a tape in bytes.
const maxTape = 4 << 20

// exchange is a request to a real backend, and its answer. Its Request is the request, with secrets
// replaced by their names, and its Reply has the arguments of a reply block, and those that only a tape has.
type exchange struct {
	kind, connection string
	request, reply   map[string]any
	secrets          []string // of the request, without a name
}

// splitLines returns the members with texts of several lines as lists of lines.
func (m *Mocks) splitLines(kind string, members map[string]any) map[string]any {
	out := make(map[string]any, len(members))
	for name, v := range members {
		out[name] = v
	}
	for _, name := range lineTexts(m.kinds.Mock(kind)) {
		text, ok := members[name].(string)
		if !ok || strings.Count(text, "\n") < 2 {
			continue
		}
		var lines []any
		for line := range strings.Lines(text) {
			lines = append(lines, line)
		}
		out[name] = lines
	}
	return out
}

// lineTexts returns the names of the texts that a tape holds as lists of lines.
func lineTexts(k *mock.Kind) (names []string) {
	for _, a := range slices.Concat(k.Asked(), k.Replied()) {
		if a.Lines {
			names = append(names, a.Name)
		}
	}
	return names
}

// joinLines is the inverse of splitLines. A list of anything else stays.
func joinLines(k *mock.Kind, members map[string]any) {
	for _, name := range lineTexts(k) {
		lines, ok := members[name].([]any)
		var text strings.Builder
		for _, line := range lines {
			part, isText := line.(string)
			ok = ok && isText
			text.WriteString(part)
		}
		if ok {
			members[name] = text.String()
		}
	}
}

// encodeTape returns the content of a tape: JSON with sorted members, one on each line.
func (m *Mocks) encodeTape(exchanges []*exchange) ([]byte, error) {
	list := make([]any, len(exchanges))
	for i, x := range exchanges {
		entry := map[string]any{"kind": x.kind, "request": m.splitLines(x.kind, x.request),
			"response": m.splitLines(x.kind, x.reply)}
		if x.connection != "" {
			entry["connection"] = x.connection
		}
		list[i] = entry
	}
	encoded, err := value.AppendJSON(nil, map[string]any{"tape": 1, "exchanges": list})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, encoded, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	if out.Len() > maxTape {
		return nil, fmt.Errorf("it would have more than %d MiB", maxTape>>20)
	}
	return out.Bytes(), nil
}

// tapeType is the type of the content of a tape.
var tapeType = schema.ObjectOf(
	&schema.Member{Name: "tape", Type: mock.Integer},
	&schema.Member{Name: "exchanges", Type: schema.ListOf(schema.ObjectOf(
		&schema.Member{Name: "kind", Type: mock.Text},
		&schema.Member{Name: "connection", Type: mock.Text, Optional: true},
		&schema.Member{Name: "request", Type: mock.Map},
		&schema.Member{Name: "response", Type: mock.Map},
	))},
)

// decodeTape reads a tape. The error says where it is wrong.
func (m *Mocks) decodeTape(src []byte) ([]*exchange, error) {
	v, err := value.Decode(src)
	if err != nil {
		return nil, err
	}
	checked, violations, _ := tapeType.Compile().Check(v, schema.Unlimited)
	if violations != nil {
		return nil, fmt.Errorf("%s", violations[0])
	}
	tape, _ := checked.(map[string]any)
	if tape["tape"] != 1 {
		return nil, fmt.Errorf("tape is %v, and this program reads 1", tape["tape"])
	}
	list, _ := tape["exchanges"].([]any)
	exchanges := make([]*exchange, len(list))
	for i, e := range list {
		x, err := m.decodeExchange(e)
		if err != nil {
			return nil, fmt.Errorf("exchanges[%d].%w", i, err)
		}
		exchanges[i] = x
	}
	return exchanges, nil
}

func (m *Mocks) decodeExchange(v any) (*exchange, error) {
	entry, _ := v.(map[string]any)
	x := &exchange{}
	x.kind, _ = entry["kind"].(string)
	x.connection, _ = entry["connection"].(string)
	x.request, _ = entry["request"].(map[string]any)
	reply, _ := entry["response"].(map[string]any)
	k := m.kinds.Mock(x.kind)
	if k == nil {
		return nil, fmt.Errorf("kind is %q, and is %s", x.kind, diag.JoinOr(m.kinds.Mocked()))
	}
	joinLines(k, x.request)
	joinLines(k, reply)
	checked, violations, _ := k.Taped.Compile().Check(reply, schema.Unlimited)
	if violations != nil {
		return nil, fmt.Errorf("response.%s", violations[0])
	}
	x.reply, _ = checked.(map[string]any)
	if k.CheckTaped == nil {
		return x, nil
	}
	return x, k.CheckTaped(x.reply)
}

// readTape reads a tape of the configuration directory.
func (m *Mocks) readTape(name string) ([]*exchange, error) {
	src, err := m.ReadFile(name, maxTape)
	if err != nil {
		return nil, err
	}
	return m.decodeTape(src)
}
