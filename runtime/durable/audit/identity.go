package audit

import (
	"maps"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

// Identity is as whom a call acts in the system behind a connection.
type Identity struct {
	Connection string            `json:"connection"` // its kind and name
	Instance   string            `json:"instance,omitempty"`
	Role       string            `json:"role,omitempty"`
	Session    map[string]string `json:"session,omitempty"`    // what the call sets in its session
	Credential string            `json:"credential,omitempty"` // whose the connection has fetched, and where from
}

// String returns the identity for people: as tenant_ro on postgres.desk[eu], app.tenant = "acme".
func (i *Identity) String() string {
	var out strings.Builder
	if i.Role != "" {
		out.WriteString("as " + i.Role + " ")
	}
	out.WriteString("on " + i.Connection)
	if i.Instance != "" {
		out.WriteString("[" + i.Instance + "]")
	}
	for _, name := range slices.Sorted(maps.Keys(i.Session)) {
		out.WriteString(", " + name + " = ")
		out.Write(value.AppendString(nil, i.Session[name]))
	}
	if i.Credential != "" {
		out.WriteString(", signed in as " + i.Credential)
	}
	return out.String()
}

func (i *Identity) append(dst []byte) []byte {
	from := len(dst)
	dst = appendText(dst, "connection", i.Connection)
	dst = appendText(dst, "instance", i.Instance)
	dst = appendText(dst, "role", i.Role)
	if len(i.Session) > 0 {
		session := len(dst) + len(`,"session":`)
		dst = append(dst, `,"session":`...)
		for _, name := range slices.Sorted(maps.Keys(i.Session)) {
			dst = append(value.AppendString(append(dst, ','), name), ':')
			dst = value.AppendString(dst, truncate(i.Session[name]))
		}
		dst[session] = '{' // instead of the comma
		dst = append(dst, '}')
	}
	dst = appendText(dst, "credential", i.Credential)
	dst[from] = '{'
	return append(dst, '}')
}
