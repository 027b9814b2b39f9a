package sql

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/credential"
	"hatchel/adapters/credential/aws"
	"hatchel/adapters/credential/aws/awstest"
	"hatchel/adapters/credential/cloudtest"
	"hatchel/runtime/edge/auth/issuertest"
)

// inCloud returns the adapters on a machine.
func inCloud(t *testing.T, cloud *credential.Cloud) adapters.Set {
	return withLogins(func(c *serverConnection, env adapters.Env) (*login, error) {
		return c.newLogin(t.Context(), env, cloud)
	})
}

// bindInCloud binds a tool whose connection has an auth block with a body.
func bindInCloud(t *testing.T, cloud *credential.Cloud, kind, address, authority, body string) *adaptertest.BoundTool {
	t.Helper()
	s := server{kind: kind, url: address}.sourceWith("auth {\n"+body+"\n}\nca_file = \""+authority+"\"", "", session[kind])
	s.Set = inCloud(t, cloud)
	return adaptertest.Bind(t, s)
}

// The token that the metadata of a machine gives is the password.
func TestTokensOfTheMachineArePasswords(t *testing.T) {
	metadata := map[string]func(r *http.Request) bool{
		"google_sql {}": func(r *http.Request) bool {
			return r.Header.Get("Metadata-Flavor") == "Google" && r.FormValue("scopes") == "https://www.googleapis.com/auth/sqlservice.login"
		},
		"entra {}": func(r *http.Request) bool {
			return r.Header.Get("Metadata") == "true" && r.FormValue("resource") == "https://ossrdbms-aad.database.windows.net"
		},
	}
	eachServer(t, func(t *testing.T, s server) {
		u := s.createTokenUser(t)
		options := map[string]string{"postgres": "sslmode=verify-full", "mysql": "tls=true"}[s.kind]
		address, authority := u.secure(t, url.User(u.name), "localhost", options)
		for block, isValid := range metadata {
			t.Run(block, func(t *testing.T) {
				fake := cloudtest.New(t)
				fake.Serve("169.254.169.254:80", func(w http.ResponseWriter, r *http.Request) {
					if !isValid(r) {
						http.Error(w, "wrong question", http.StatusBadRequest)
						return
					}
					w.Header().Set("Metadata-Flavor", "Google")
					u.mu.Lock()
					defer u.mu.Unlock()
					fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, u.password)
				})
				b := bindInCloud(t, fake.Cloud(nil), s.kind, address, authority, block)
				if n := len(fake.Dialed()); n != 0 {
					t.Errorf("%d connections were opened before a call", n)
				}
				state := b.Handle("db").(adapters.SignedIn).Credential
				if s := state(); s.Valid || s.Identity != "" {
					t.Errorf("there is a credential before a call: %+v", s)
				}
				mustCall(t, b, `{}`)
				mustCall(t, b, `{}`)
				if s := b.Action.(adapters.SignedIn).Credential(); !s.Valid || *s != *state() || s.Identity == "" ||
					time.Until(s.Expires) < 50*time.Minute || s.Failure != "" {
					t.Errorf("the state of the credential is %+v", s)
				}
				if n := len(fake.Dialed()); n != 1 {
					t.Errorf("the metadata was asked %d times", n)
				}
			})
		}
	})
}

// A machine without credentials, as one that is none of the cloud.
func TestAMachineWithoutCredentialsFailsInWords(t *testing.T) {
	s := connect(t, "postgres")
	address, authority := s.secure(t, url.User("app"), "localhost", "sslmode=verify-full")
	for block, want := range map[string]string{
		`aws_rds { region = "eu-central-1" }`: "signing in failed: no AWS credential: ", "google_sql {}": "signing in failed: no Google credential: ",
		"entra {}": "signing in failed: no Entra credential: ",
	} {
		b := bindInCloud(t, cloudtest.New(t).Cloud(nil), "postgres", address, authority, block)
		if got := mustFail(t, b, `{}`); !strings.HasPrefix(got, `the database "db" is unavailable: `+want) {
			t.Error(got)
		}
	}
}

// PostgreSQL asks for the password in clear, inside TLS, and another server decides about it: as at RDS. That one
// verifies the signature on its own.
func TestPostgreSQLSignsInWithTokensOfRDS(t *testing.T) {
	s := connect(t, "postgres")
	name := s.createTokenUser(t).name
	address, authority := s.secure(t, url.User(name), "localhost", "sslmode=verify-full")
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var issuer awstest.Issuer
	verifier := awstest.Verifier{Service: "rds-db", Region: "eu-central-1", Key: issuer.Key}
	ldap := startLDAP(t, func(password string) error { return verifier.VerifyPassword(password, parsed.Host, name) })
	admin := connectTo(t, os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER"))
	addHBA(t, admin, fmt.Sprintf(`hostssl all %s 127.0.0.1/32 ldap ldapserver=127.0.0.1 ldapport=%d ldapprefix="cn="`, name, ldap.port))
	waitFor(t, func() bool { // until the server has read it
		conn, err := pgx.Connect(t.Context(), strings.Replace(address, "verify-full", "require", 1)+"&password=x")
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return len(ldap.seen()) > 0
	})
	fake := cloudtest.New(t)
	fake.Serve("169.254.170.2:80", issuer.Container("/role", ""))
	cloud := fake.Cloud(map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/role"})
	b := bindInCloud(t, cloud, "postgres", address, authority, `aws_rds { region = "eu-central-1" }`)
	mustCall(t, b, `{}`)
	if err := ldap.seen()[len(ldap.seen())-1]; err != nil {
		t.Error(err)
	}
	// The credentials are revoked, and the connection ends: the database refuses the next token, and new credentials
	// are asked for.
	issuer.Revoke()
	if _, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", name); err != nil {
		t.Fatal(err)
	}
	mustCall(t, b, `{}`)
	if n := issuer.Asked(); n != 2 {
		t.Errorf("credentials were asked for %d times", n)
	}
	b = bindInCloud(t, cloud, "postgres", address, authority, `aws_rds { region = "us-east-1" }`)
	got := mustFail(t, b, `{}`)
	if !strings.Contains(got, "the database refused the token of AWS: is IAM login on for this user?") || strings.Contains(got, "X-Amz") {
		t.Error(got)
	}
	if err := b.Handle("db").(adapters.Health).Ping(t.Context()); err == nil || strings.Contains(err.Error(), "X-Amz") {
		t.Errorf("Ping returned %v", err)
	}
}

// The instances of a connection may be in several regions. They share the credentials.
func TestATokenOfRDSIsForTheRegionOfItsEndpoint(t *testing.T) {
	key := awstest.Key{ID: "AKIDEXAMPLE", Secret: "secret"}
	var issuer awstest.Issuer
	issuer.Add(key)
	cloud := cloudtest.New(t).Cloud(map[string]string{"AWS_ACCESS_KEY_ID": key.ID, "AWS_SECRET_ACCESS_KEY": key.Secret})
	fetches := credential.NewFetches(t.Context(), adapters.Env{Defer: func(undo func() error) { t.Cleanup(func() { _ = undo() }) }})
	block := &aws.RDS{Identity: aws.Identity{Region: "eu-central-1"}}
	passwords := aws.NewPasswords(block, aws.NewProvider(&block.Identity, cloud, fetches))
	for endpoint, region := range map[string]string{
		"ledger.abc.rds.cn-north-1.amazonaws.com.cn:5432": "cn-north-1", "l.abc.rds.us-iso-east-1.c2s.ic.gov:5432": "us-iso-east-1",
		"l.abc.eusc-de-east-1.rds.amazonaws.eu:5432": "eusc-de-east-1", "LEDGER.abc.US-east-1.RDS.amazonaws.com.:5432": "us-east-1",
		"ledger.abc.us-east-1.rds.amazonaws.com:5432": "us-east-1", "ledger.abc.cn-north-1.rds.amazonaws.com.cn:3306": "cn-north-1",
		"p.proxy-abc.us-gov-west-1.rds.amazonaws.com:5432": "us-gov-west-1", "localhost:5432": "eu-central-1",
		"ledger.us-east-1.rds.amazonaws.com.example:5432": "eu-central-1",
	} {
		password, err := passwords.Password(t.Context(), endpoint, "app")
		if err == nil {
			verifier := awstest.Verifier{Service: "rds-db", Region: region, Key: issuer.Key}
			own := strings.ToLower(strings.Replace(endpoint, ".:", ":", 1)) // what RDS compares it with
			err = verifier.VerifyPassword(password, own, "app")
		}
		if err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// addHBA adds the first line of the rules by which PostgreSQL authenticates, until the end of the test.
func addHBA(t *testing.T, admin *pgx.Conn, line string) {
	t.Helper()
	var file, before string
	if err := admin.QueryRow(t.Context(), "SELECT current_setting('hba_file'), pg_read_file(current_setting('hba_file'))").Scan(&file, &before); err != nil {
		t.Fatal(err)
	}
	write := func(ctx context.Context, text string) {
		t.Helper()
		copied := "COPY (SELECT unnest(string_to_array($hba$" + text + "$hba$, E'\\n'))) TO '" + file + "'"
		for _, statement := range []string{copied, "SELECT pg_reload_conf()"} {
			if _, err := admin.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t.Context(), line+"\n"+before)
	t.Cleanup(func() { write(context.Background(), before) })
}

// ldapServer answers to simple binds.
type ldapServer struct {
	port   int
	verify func(password string) error

	mu       sync.Mutex
	verdicts []error // guarded by mu
}

func (l *ldapServer) seen() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.verdicts
}

func startLDAP(t *testing.T, verify func(password string) error) *ldapServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &ldapServer{port: listener.Addr().(*net.TCPAddr).Port, verify: verify}
	serveEach(t, listener, l.answer)
	return l
}

// serveEach serves each connection of a listener until the end of the test.
func serveEach(t *testing.T, listener net.Listener, serve func(net.Conn)) {
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
}

// answer answers one bind (RFC 4511, section 4.2). A message of a bind is shorter than 64 KiB.
func (l *ldapServer) answer(conn net.Conn) {
	r := bufio.NewReaderSize(conn, 64<<10)
	head, err := r.Peek(4)
	if err != nil {
		return
	}
	size := 2 + int(head[1])
	switch head[1] {
	case 0x81:
		size = 3 + int(head[2])
	case 0x82:
		size = 4 + int(binary.BigEndian.Uint16(head[2:]))
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(r, raw); err != nil {
		return
	}
	var message struct {
		ID   int
		Bind struct {
			Version  int
			Name     []byte
			Password []byte `asn1:"tag:0"`
		} `asn1:"application,tag:0"`
	}
	code := byte(49) // invalid credentials
	_, err = asn1.Unmarshal(raw, &message)
	if err == nil {
		err = l.verify(string(message.Bind.Password))
	}
	if err == nil {
		code = 0
	}
	l.mu.Lock()
	l.verdicts = append(l.verdicts, err)
	l.mu.Unlock()
	_, _ = conn.Write([]byte{0x30, 12, 2, 1, byte(message.ID), 0x61, 7, 0x0a, 1, code, 4, 0, 4, 0})
}

// RDS reads the token in clear with mysql_clear_password. The driver sends it inside TLS only, and never to a server
// without TLS.
func TestMySQLSignsInWithTokensOfRDS(t *testing.T) {
	own, dir := issuertest.NewAuthority(t, "logintest"), t.TempDir()
	own.WriteOwn(dir, "authority.pem")
	pair := own.Issue(dir, "server", &x509.Certificate{DNSNames: []string{"localhost"}})
	for name, hasTLS := range map[string]bool{"with TLS": true, "without TLS": false} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			_, port, _ := net.SplitHostPort(listener.Addr().String())
			passwords := make(chan string, 8)
			serveEach(t, listener, func(conn net.Conn) { askInClear(conn, pair, hasTLS, passwords) })
			var issuer awstest.Issuer
			issuer.Add(awstest.Key{ID: "AKIDEXAMPLE", Secret: "secret"})
			cloud := cloudtest.New(t).Cloud(map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"})
			address := "mysql://app@localhost:" + port + "/shop?tls=true"
			b := bindInCloud(t, cloud, "mysql", address, filepath.Join(dir, "authority.pem"), `aws_rds { region = "eu-central-1" }`)
			got := mustFail(t, b, `{}`)
			close(passwords)
			var all []string
			for password := range passwords {
				all = append(all, password)
			}
			if !hasTLS {
				if len(all) != 0 || !strings.Contains(got, string(wrongTLS)) {
					t.Errorf("%d passwords: %s", len(all), got)
				}
				return
			}
			if len(all) != 2 || !strings.Contains(got, "the database refused the token of AWS") {
				t.Errorf("%d passwords: %s", len(all), got)
			}
			verifier := awstest.Verifier{Service: "rds-db", Region: "eu-central-1", Key: issuer.Key}
			for _, password := range all {
				if err := verifier.VerifyPassword(password, "localhost:"+port, "app"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// askInClear is the beginning of a MySQL server that asks for the password in clear, and refuses it.
func askInClear(conn net.Conn, pair tls.Certificate, hasTLS bool, passwords chan<- string) {
	const capabilities = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000 | 0x8
	flags := uint32(capabilities)
	if hasTLS {
		flags |= 0x800
	}
	hello := append([]byte{10}, "8.0.40\x00\x01\x00\x00\x00saltsalt\x00"...)
	hello = binary.LittleEndian.AppendUint16(hello, uint16(flags))
	hello = append(hello, 45, 2, 0)
	hello = binary.LittleEndian.AppendUint16(hello, uint16(flags>>16))
	hello = append(hello, 21)
	hello = append(hello, make([]byte, 10)...)
	hello = append(hello, "saltsaltsalt\x00mysql_native_password\x00"...)
	err := writePacket(conn, 0, hello)
	if err != nil || !hasTLS {
		return
	}
	if request, err := readPacket(conn); err != nil || len(request) != 32 {
		passwords <- "no request for TLS"
		return
	}
	secured := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}})
	if _, err := readPacket(secured); err != nil {
		return
	}
	if err := writePacket(secured, 3, []byte("\xfemysql_clear_password\x00")); err != nil {
		return
	}
	password, err := readPacket(secured)
	if err != nil {
		return
	}
	passwords <- strings.TrimSuffix(string(password), "\x00")
	_ = writePacket(secured, 5, []byte("\xff\x15\x04#28000Access denied for user 'app'"))
	_ = secured.Close()
}

func writePacket(w io.Writer, sequence byte, payload []byte) error {
	packet := []byte{byte(len(payload)), byte(len(payload) >> 8), byte(len(payload) >> 16), sequence}
	_, err := w.Write(append(packet, payload...))
	return err
}

func readPacket(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	payload := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(r, payload)
	return payload, err
}
