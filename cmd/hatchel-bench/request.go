package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// era is one of the two ways in which a client speaks MCP.
type era string

const (
	legacy era = "2025-11-25"
	modern era = "2026-07-28"
)

var eras = []era{legacy, modern}

// The id of a request is always ten digits, so that a prepared request is sent again by overwriting
// them.
const (
	idDigits = 10
	firstID  = 1_000_000_000
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"hatchel-bench","version":"1.0.0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// request is one prepared message whose id can be replaced in place.
type request struct {
	bytes []byte
	id    []byte // the digits inside bytes
}

func (r *request) number(id int) { strconv.AppendInt(r.id[:0], int64(id), 10) }

// body is the JSON-RPC message of a call of tool, or of tools/list when tool is empty.
func body(e era, tool, arguments string) []byte {
	method, params, meta := "tools/list", "", ""
	if tool != "" {
		method, params = "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments)
	}
	if e == modern {
		if meta = modernMeta; tool != "" {
			meta = "," + modernMeta
		}
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, firstID, method, params, meta)
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"hatchel-bench","version":"1.0.0"}}}`

const initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// httpRequest is the message as one HTTP request; extra are whole header lines.
func httpRequest(host string, body []byte, extra string) *request {
	head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n", host, extra, len(body))
	return prepare(append([]byte(head), body...))
}

// lineRequest is the message as one line of stdio, which has no headers.
func lineRequest(body []byte, _ string) *request {
	return prepare(append(bytes.Clone(body), '\n'))
}

func prepare(message []byte) *request {
	r := &request{bytes: message}
	if at := bytes.LastIndex(message, strconv.AppendInt([]byte(`"id":`), firstID, 10)); at >= 0 {
		r.id = message[at+len(`"id":`):][:idDigits]
	}
	return r
}

// callHeaders are the header lines of one call in one era; session is empty where there is none.
func callHeaders(e era, tool, session string) string {
	if e == modern {
		lines := "MCP-Protocol-Version: 2026-07-28\r\n"
		if tool == "" {
			return lines + "Mcp-Method: tools/list\r\n"
		}
		return lines + "Mcp-Method: tools/call\r\nMcp-Name: " + tool + "\r\n"
	}
	lines := "MCP-Protocol-Version: 2025-11-25\r\n"
	if session != "" {
		lines += "Mcp-Session-Id: " + session + "\r\n"
	}
	return lines
}
