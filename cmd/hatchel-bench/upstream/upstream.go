// Package upstream is the MCP server behind the rows of the benchmark that call one: a bare handler of one revision
// that answers with prepared bytes, over HTTP and over standard input and output.
package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// The revisions that a server speaks, one at a time.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

// Session is the id of the only session of a legacy server. It is as long as a UUID, which most servers choose.
const Session = "00000000-0000-4000-8000-000000000001"

// Server is an MCP server with the tools read_record, which answers with 1 KB of JSON, read_page, which answers with a
// text of about 100 KB, and write_record. Its methods may be called concurrently.
type Server struct {
	Revision string   // Legacy or Modern
	Stream   bool     // answers calls over HTTP with a stream of events
	Page     string   // the text of read_page
	Written  *os.File // gets a line with the number of the record for each call of write_record; opened to append
}

// message is what the server decodes of a message of its client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			ID   int    `json:"id"`
			Name string `json:"name"`
		} `json:"arguments"`
	} `json:"params"`
}

// Tools are the definitions of the tools, as members of the result of tools/list.
const Tools = `"tools":[{"name":"read_page","description":"Read the whole page.","inputSchema":{"type":"object",` +
	`"properties":{"name":{"type":"string","description":"Title of the page"}},"required":["name"]}},` +
	`{"name":"read_record","description":"Read one record.","inputSchema":{"type":"object",` +
	`"properties":{"id":{"type":"integer","description":"Number of the record"}},"required":["id"]},` +
	`"annotations":{"readOnlyHint":true}},{"name":"write_record","description":"Write one record.","inputSchema":` +
	`{"type":"object","properties":{"id":{"type":"integer","description":"Number of the record"}},"required":["id"]}}]`

const serverInfo = `{"name":"bench","version":"1.0.0"}`

// Record returns the text of read_record: 1 KB of JSON.
func Record(id int) string {
	head := fmt.Sprintf(`{"id":%d,"title":"Record %d","paid":true,"total":%d.25,"lines":[1,2,3],"note":"`, id, id, id)
	const tail = `"}`
	return head + strings.Repeat("The quick brown fox jumps over the lazy dog. ", 23)[:1024-len(head)-len(tail)] + tail
}

// answer appends the response to a message; nothing for a notification.
func (s *Server) answer(dst []byte, m *message) ([]byte, error) {
	if len(m.ID) == 0 {
		return dst, nil
	}
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), m.ID...)
	if s.Revision == Legacy && m.Method == "server/discover" {
		return append(dst, `,"error":{"code":-32601,"message":"Method not found"}}`...), nil
	}
	dst = append(dst, `,"result":{`...)
	if s.Revision == Modern {
		dst = append(dst, `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":`+serverInfo+`},`...)
	}
	switch m.Method {
	case "server/discover":
		dst = append(dst, `"supportedVersions":["`+Modern+`"],"capabilities":{"tools":{}},"ttlMs":3600000,`+
			`"cacheScope":"public"`...)
	case "initialize":
		dst = append(dst, `"protocolVersion":"`+Legacy+`","capabilities":{"tools":{}},"serverInfo":`+serverInfo...)
	case "tools/list":
		if dst = append(dst, Tools...); s.Revision == Modern {
			dst = append(dst, `,"ttlMs":3600000,"cacheScope":"public"`...)
		}
	case "tools/call":
		text := m.Params.Arguments.Name + ": " + s.Page
		switch id := m.Params.Arguments.ID; m.Params.Name {
		case "read_record":
			text = Record(id)
		case "write_record":
			text = fmt.Sprintf("Record %d is written.", id)
			if _, err := fmt.Fprintln(s.Written, id); err != nil {
				return nil, err
			}
		}
		encoded, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		dst = append(append(append(dst, `"content":[{"type":"text","text":`...), encoded...), "}]"...)
	case "ping":
		dst = bytes.TrimSuffix(dst, []byte(","))
	default:
		return nil, fmt.Errorf("the server has no %s", m.Method)
	}
	return append(dst, "}}"...), nil
}

// ServeHTTP answers a message.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	var answer []byte
	stream := s.Stream && m.Method == "tools/call"
	if stream {
		answer = append(answer, "event: message\ndata: "...)
	}
	if err == nil {
		answer, err = s.answer(answer, &m)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case len(answer) == 0:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", Session)
	}
	w.Header().Set("Content-Type", "application/json")
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
		answer = append(answer, "\n\n"...)
	}
	w.Write(answer)
}

// ServeLines answers messages, one a line, until the input ends.
func (s *Server) ServeLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		answer, err := s.answer(nil, &m)
		if err != nil {
			return err
		}
		if len(answer) == 0 {
			continue
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
}
