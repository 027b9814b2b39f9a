package sql

import (
	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/mock"
)

// InstanceKeys implements hcl.Instanced.
func (c *serverConnection) InstanceKeys() []string { return c.Instances.Names() }

// Instance implements adapters.Instanced.
func (s *instances) Instance(key string) any { return s.databases[key] }

// Instance implements adapters.Instanced. Mocks answer for all instances.
func (m *mockedDatabase) Instance(string) any { return m }

// self returns the identifier of a database; nil for one whose calls all run as its login.
func (i *identifier) self() *identifier { return i }

// ChooseInstance implements adapters.InstanceChooser.
func (a *action) ChooseInstance(call *adapters.Call) (string, error) {
	i := a.db.self()
	if i == nil || i.instance == nil {
		return "", nil
	}
	return i.instanceOf(call.Frame)
}

// IdentityNeeded implements adapters.Identified.
func (a *action) IdentityNeeded() bool { return a.db.self() != nil }

// Identity implements adapters.Identified.
func (a *action) Identity(call *adapters.Call) (*adapters.Identity, error) {
	as, err := a.db.identityOf(call.Frame)
	if err != nil {
		return nil, err
	}
	return a.shownIdentity(as), nil
}

// traceIdentity returns as whom a call runs, and traces it if that is not the login of the connection.
func (a *action) traceIdentity(call *adapters.Call) (identity, error) {
	as, err := a.db.identityOf(call.Frame)
	if err == nil && call.Trace != nil && a.IdentityNeeded() {
		call.Trace(adapters.TraceIdentity, a.shownIdentity(as).String())
	}
	return as, err
}

// DescribeIdentity implements hcl.Identified.
func (c *serverConnection) DescribeIdentity(conn *hcl.Connection, f *hcl.Frame) (string, error) {
	i := newIdentifier(c, conn.Name)
	as, err := i.identityOf(f)
	if err != nil {
		return "", err
	}
	return i.shown(conn.Kind, conn.Name, as).String(), nil
}

// shownIdentity returns an identity of the connection for people.
func (a *action) shownIdentity(as identity) *adapters.Identity {
	for kind, dialect := range dialects {
		if dialect == a.dialect {
			return a.db.self().shown(kind, a.connection, as)
		}
	}
	return nil
}

// shown returns an identity of a connection for people.
func (i *identifier) shown(kind, connection string, as identity) *adapters.Identity {
	shown := &adapters.Identity{Kind: kind, Connection: connection, Instance: as.instance, Role: as.role}
	for n, v := range as.values {
		of := &i.session[n]
		shown.Session = append(shown.Session,
			adapters.SessionValue{Name: of.Name, Value: v, Sensitive: of.Value.Typed.Sensitive})
	}
	return shown
}

// identityArguments are what mocks compare of the identity of a statement.
var identityArguments = []mock.Argument{
	{Name: "instance", Type: mock.Text, Added: true, Doc: "The instance that the statement is sent to."},
	{Name: "role", Type: mock.Text, Added: true, Doc: "The role that the statement runs as."},
	{Name: "session", Type: mock.Map, Added: true, Doc: "Values of the session, by name. Others are not compared. A " +
		"null stands for a name that the connection does not set."},
}

// asked returns the identity of a statement as mocks, tapes and conditions have it: members that are set alone.
func (i *identifier) asked(as identity) map[string]any {
	asked := map[string]any{}
	if as.instance != "" {
		asked["instance"] = as.instance
	}
	if as.role != "" {
		asked["role"] = as.role
	}
	if len(as.values) > 0 {
		session := map[string]any{}
		for n, v := range as.values {
			session[i.session[n].Name] = v
		}
		asked["session"] = session
	}
	return asked
}

// secrets returns the sensitive values of an identity.
func (i *identifier) secrets(as identity) (texts []string) {
	for n, v := range as.values {
		if i.session[n].Value.Typed.Sensitive {
			texts = append(texts, v)
		}
	}
	return texts
}

// matchIdentity compares the identity of a statement with what a mock requires of it.
func matchIdentity(c *mock.Matcher, want, asked map[string]any) {
	for _, name := range []string{"instance", "role"} {
		if text, ok := want[name].(string); ok {
			var shown any = mock.Absent
			got, isSet := asked[name].(string)
			if isSet {
				shown = got
			}
			c.Part("the "+name, isSet && c.EqualText(text, got), text, shown)
		}
	}
	if values, ok := want["session"].(map[string]any); ok {
		got := map[string][]string{}
		session, _ := asked["session"].(map[string]any)
		for name, v := range session {
			got[name] = []string{v.(string)}
		}
		c.Fields("session", values, got)
	}
}
