package aws

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential/aws/awstest"
	"hatchel/adapters/credential/cloudtest"
)

const (
	testRole      = "arn:aws:iam::123456789012:role/team/reader"
	webToken      = "eyJ.web-identity.token"
	hostSTS       = "sts.eu-central-1.amazonaws.com:443"
	hostInstance  = "169.254.169.254:80"
	hostECS       = "169.254.170.2:80"
	hostPod       = "169.254.170.23:80"
	podAddress    = "http://169.254.170.23/v1/credentials"
	agentSecret   = "agent-authorization-token"
	otherTestRole = "arn:aws:iam::123456789012:role/other"
)

// machine is a machine with all services of AWS that give credentials.
type machine struct {
	*cloudtest.Fake
	issuer awstest.Issuer
	env    map[string]string
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{Fake: cloudtest.New(t), env: map[string]string{}}
	m.Serve(hostSTS, m.issuer.STS("eu-central-1", testRole, webToken))
	m.Serve(hostInstance, m.issuer.Instance("node-role"))
	m.Serve(hostECS, m.issuer.Container("/v2/credentials/4bf3?x=1", ""))
	m.Serve(hostPod, m.issuer.Container("/v1/credentials", agentSecret))
	return m
}

func (m *machine) provider(t testing.TB, i Identity) *Provider {
	if i.Region == "" {
		i.Region = "eu-central-1"
	}
	if i.SessionName == "" {
		i.SessionName = defaultSessionName
	}
	return NewProvider(&i, m.Cloud(m.env), cloudtest.Fetches(t))
}

func (m *machine) setEnv(names map[string]string) {
	for name, text := range names {
		m.env[name] = text
	}
}

func writeFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// configured is what the environment has for each source.
func configured(t testing.TB) map[string]map[string]string {
	return map[string]map[string]string{
		sourceEnv:         {envKeyID: "AKIAENV", envSecret: "env-secret"},
		sourceWebIdentity: {envTokenFile: writeFile(t, webToken+"\n"), envRoleARN: testRole, envSessionName: "pod-7"},
		sourceContainer:   {envFullURI: podAddress, envContainerFile: writeFile(t, agentSecret)},
		sourceInstance:    {},
	}
}

func TestTheFirstConfiguredSourceGivesTheCredentials(t *testing.T) {
	order := []string{sourceEnv, sourceWebIdentity, sourceContainer, sourceInstance}
	for first := range order {
		m := newMachine(t)
		for _, name := range order[first:] {
			m.setEnv(configured(t)[name])
		}
		c, err := m.provider(t, Identity{}).Get(t.Context())
		if err != nil || c.Source != order[first] {
			t.Errorf("%s: %q %v", order[first], c.Source, err)
		}
		for _, only := range order[first:] { // the argument source chooses another one
			c, err := m.provider(t, Identity{Source: only}).Get(t.Context())
			if err != nil || c.Source != only {
				t.Errorf("source %s: %q %v", only, c.Source, err)
			}
		}
	}
}

func TestASourceThatFailsIsNotSkipped(t *testing.T) {
	const code = "InternalFailure"
	for _, name := range []string{sourceWebIdentity, sourceContainer, sourceInstance} {
		m := newMachine(t)
		m.setEnv(configured(t)[name])
		m.issuer.Fail(http.StatusForbidden, code)
		_, err := m.provider(t, Identity{}).Get(t.Context())
		if err == nil || !strings.Contains(err.Error(), "403 Forbidden, "+code) || strings.Contains(err.Error(), "body-of") {
			t.Errorf("%s: %v", name, err)
		}
		want := map[string]int{sourceWebIdentity: 1, sourceContainer: 1, sourceInstance: 3}[name]
		if dialed := m.Dialed(); len(dialed) != want {
			t.Errorf("%s: asked %v", name, dialed)
		}
	}
}

// TestEachFailureNamesItsCause has a row for each way in which a source fails.
func TestEachFailureNamesItsCause(t *testing.T) {
	web := func(file string) map[string]string {
		return map[string]string{envTokenFile: file, envRoleARN: testRole}
	}
	agent := func(address string) map[string]string { return map[string]string{envFullURI: address} }
	for name, test := range map[string]struct {
		env    map[string]string
		source string
		want   string
	}{
		"no secret":       {map[string]string{envKeyID: "AKIA"}, "", "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"},
		"a forged key":    {map[string]string{envKeyID: "AKIA\r\nX: y", envSecret: "s"}, "", "has characters that no AWS credential has"},
		"no role":         {map[string]string{envTokenFile: "/x"}, "", "AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not"},
		"no file":         {web("/no/such/file"), "", "does not exist"},
		"an empty file":   {web(writeFile(t, " \n")), "", "is empty"},
		"a large file":    {web(writeFile(t, strings.Repeat("x", 65<<10))), "", "has more than 64 KiB"},
		"a directory":     {web(t.TempDir()), "", "is not a regular file"},
		"two lines":       {web(writeFile(t, "a\nb")), "", "has no token"},
		"a foreign token": {web(writeFile(t, "secret-file-token")), "", "STS (sts.eu-central-1.amazonaws.com) answered 400 Bad Request, InvalidIdentityToken"},
		"not chosen":      {nil, sourceContainer, `source is "container", and AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI is not set`},
		"another machine": {agent("http://10.0.0.1/x"), "", "names another machine without TLS"},
		"another name":    {agent("http://169.254.170.2.evil.example/x"), "", "names another machine without TLS"},
		"a user":          {agent("http://169.254.170.2@evil.example/x"), "", "is not a URL"},
		"another scheme":  {agent("file:///etc/passwd"), "", "is not a URL"},
		"mapped":          {agent("http://[::ffff:10.0.0.1]/x"), "", "names another machine without TLS"},
		"relative host":   {map[string]string{envRelativeURI: "@evil.example/x"}, "", "is not a path"},
		"no token":        {agent(podAddress), "", "the container agent answered 401 Unauthorized"},
		"a forged token":  {map[string]string{envFullURI: podAddress, envContainerAuth: "a\r\nb: c"}, "", "that no header can have"},
		"switched off":    {map[string]string{envNoInstance: "true"}, "", "AWS_EC2_METADATA_DISABLED is true"},
		"blanks": {map[string]string{envKeyID: " ", envTokenFile: "\n", envFullURI: " ", envRelativeURI: "\t", envNoInstance: "TRUE\n"}, "",
			"AWS_ACCESS_KEY_ID is not set, web identity is not configured, no container agent is configured, the instance metadata is not"},
		"a quoting agent": {map[string]string{envFullURI: "http://127.0.0.1:1/quote", envContainerAuth: "Bearer lettersOnly"}, "",
			"the container agent answered 403 Forbidden"},
		"a quoting answer": {map[string]string{envFullURI: "http://127.0.0.1:1/", envContainerAuth: "Bearer lettersOnly"}, "",
			"the container agent answered no credential"},
	} {
		m := newMachine(t)
		m.Serve("127.0.0.1:1", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/quote" {
				w.WriteHeader(http.StatusForbidden)
			}
			fmt.Fprintf(w, `{"code": %q}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		})
		m.setEnv(test.env)
		_, err := m.provider(t, Identity{Source: test.source}).Get(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "signing in failed: no AWS credential: ") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, secret := range []string{"secret-file-token", webToken, agentSecret, "body-of", "X: y", "evil", "lettersOnly"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error has %q: %v", name, secret, err)
			}
		}
		var f *adapters.Fault
		if f, _ = err.(*adapters.Fault); f == nil || !f.NotSent {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

func TestTheEnvironmentMayHaveASessionToken(t *testing.T) {
	m := newMachine(t)
	m.setEnv(map[string]string{envKeyID: "ASIA", envSecret: "s", envSessionToken: "t"})
	c, err := m.provider(t, Identity{}).Get(t.Context())
	if err != nil || c.Token != "t" || !c.Expires.IsZero() {
		t.Error(c, err)
	}
}

func TestAContainerAgentIsOnTheMachineOrHasTLS(t *testing.T) {
	m := newMachine(t)
	m.setEnv(map[string]string{envRelativeURI: "/v2/credentials/4bf3?x=1"})
	if _, err := m.provider(t, Identity{}).Get(t.Context()); err != nil {
		t.Error(err)
	}
	for address, dial := range map[string]string{
		"http://127.0.0.1:1338/a": "127.0.0.1:1338", "http://[::1]:1338/a": "[::1]:1338",
		"http://localhost:1338/a": "127.0.0.1:1338", "http://LocalHost/a\n": "127.0.0.1:80", "http://[fd00:ec2::23]/a": "[fd00:ec2::23]:80",
		"https://agent.example/a": "agent.example:443", "http://127.8.9.1:5/a": "127.8.9.1:5",
	} {
		m := newMachine(t)
		m.Serve(dial, m.issuer.Container("/a", "Basic "+agentSecret))
		m.setEnv(map[string]string{envFullURI: address, envContainerAuth: "Basic " + agentSecret})
		if c, err := m.provider(t, Identity{}).Get(t.Context()); err != nil || c.Source != sourceContainer {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAnInstanceIsAskedWithASessionTokenOnly(t *testing.T) {
	var requests atomic.Int32
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
		asked   int32
	}{
		"version 1": {func(w http.ResponseWriter, r *http.Request) { // it would answer GET
			if r.Method == http.MethodPut {
				http.NotFound(w, r)
			}
		}, "the instance metadata answered 404 Not Found for a session token, which IMDSv2 has", 1},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
		}, "a redirect, which is not followed", 1},
		"a large token": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 65<<10))
		}, "answered more than 64 KiB", 1},
		"no role": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				fmt.Fprint(w, "t")
			} else {
				http.NotFound(w, r)
			}
		}, "the instance has no role", 2},
		"not JSON": {func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>secret") },
			"the instance metadata answered no credential", 3},
		"a code": {func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"Code":"AssumeRoleUnauthorizedAccess"}`) },
			"answered no credential: AssumeRoleUnauthorizedAccess", 3},
	} {
		m := &machine{Fake: cloudtest.New(t), env: map[string]string{}}
		requests.Store(0)
		m.Serve(hostInstance, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			test.handler(w, r)
		})
		_, err := m.provider(t, Identity{}).Get(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || requests.Load() != test.asked ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %d requests, %v", name, requests.Load(), err)
		}
	}
}

func TestAnInstanceThatDoesNotAnswerIsNamedWithWhatIsMissing(t *testing.T) {
	m := &machine{Fake: cloudtest.New(t), env: map[string]string{}}
	release := make(chan struct{})
	m.Serve(hostInstance, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	began := time.Now()
	_, err := m.provider(t, Identity{}).Get(t.Context())
	const want = "signing in failed: no AWS credential: AWS_ACCESS_KEY_ID is not set, web identity is not configured, " +
		"no container agent is configured, the instance metadata did not answer within 1s (in a container its hop " +
		"limit may be 1)"
	if err == nil || err.Error() != want || time.Since(began) > 3*time.Second {
		t.Errorf("%v\n%s", err, want)
	}
}

func TestARoleIsAssumedWithTheCredentialsOfTheSource(t *testing.T) {
	for _, name := range []string{sourceEnv, sourceWebIdentity, sourceContainer, sourceInstance} {
		m := newMachine(t)
		m.setEnv(configured(t)[name])
		m.issuer.Add(awstest.Key{ID: "AKIAENV", Secret: "env-secret"})
		p := m.provider(t, Identity{RoleARN: testRole, ExternalID: "ext/1", SessionName: "hatchel-prod"})
		c, err := p.Get(t.Context())
		if forms := m.issuer.Forms(); err != nil || c.Token == "" || c.Source != name ||
			forms[len(forms)-1] != "AssumeRole "+testRole+" hatchel-prod ext/1" {
			t.Errorf("%s: %v %v", name, forms, err)
		}
	}
	m := newMachine(t)
	m.setEnv(configured(t)[sourceEnv])
	m.issuer.Add(awstest.Key{ID: "AKIAENV", Secret: "env-secret"})
	_, err := m.provider(t, Identity{RoleARN: otherTestRole}).Get(t.Context())
	if err == nil || !strings.Contains(err.Error(), otherTestRole+" was not assumed: STS (sts.eu-central-1.amazonaws.com) "+
		"answered 403 Forbidden, AccessDenied") {
		t.Error(err)
	}
}

func TestWebIdentityReadsItsTokenAtEachFetch(t *testing.T) {
	m := newMachine(t)
	m.setEnv(configured(t)[sourceWebIdentity])
	p := m.provider(t, Identity{})
	if _, err := p.Get(t.Context()); err != nil || fmt.Sprint(m.issuer.Forms()) != "[AssumeRoleWithWebIdentity "+testRole+" pod-7 ]" {
		t.Fatal(m.issuer.Forms(), err)
	}
	m.Serve(hostSTS, m.issuer.STS("eu-central-1", testRole, "rotated")) // the cluster has renewed the file
	if err := os.WriteFile(m.env[envTokenFile], []byte("rotated"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, _ := p.Get(t.Context())
	p.Refuse(first)
	if c, err := p.Get(t.Context()); err != nil || c.KeyID == first.KeyID {
		t.Error(c.KeyID, err)
	}
}

func TestSTSIsThatOfTheRegionOfTheMachine(t *testing.T) {
	for _, test := range []struct{ block, env, want string }{
		{"eu-central-1", "", "sts.eu-central-1.amazonaws.com"}, {"us-east-1", "ap-south-2", "sts.ap-south-2.amazonaws.com"},
		{"cn-north-1", "", "sts.cn-north-1.amazonaws.com.cn"}, {"us-gov-west-1", "", "sts.us-gov-west-1.amazonaws.com"},
		{"us-iso-east-1", "", "sts.us-iso-east-1.c2s.ic.gov"}, {"us-isob-east-1", "", "sts.us-isob-east-1.sc2s.sgov.gov"},
		{"eusc-de-east-1", "", "sts.eusc-de-east-1.amazonaws.eu"},
		{"eu-west-1", "evil.example/", "sts.eu-west-1.amazonaws.com"}, // a host of AWS, whatever the environment has
	} {
		m := newMachine(t)
		m.env["AWS_REGION"] = test.env
		s := &sources{cloud: m.Cloud(m.env), region: test.block}
		if got := s.sts().address().Host; got != test.want {
			t.Errorf("%v: %s", test, got)
		}
	}
}

func TestManyCallsShareAFetchAndOutliveAnOutage(t *testing.T) {
	m := newMachine(t)
	p := m.provider(t, Identity{RoleARN: testRole})
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() {
			if _, err := p.Get(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if m.issuer.Asked() != 2 { // of the instance, and of the role
		t.Errorf("%d fetches", m.issuer.Asked())
	}
	m.issuer.Fail(http.StatusServiceUnavailable, "Unavailable")
	for range 10 {
		if _, err := p.Get(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if s := p.Status(); !s.Valid || time.Until(s.Expires) < 59*time.Minute {
		t.Errorf("%+v", s)
	}
}

func TestSTSIsAskedAgainAfterAFailureThatMayPass(t *testing.T) {
	for body, want := range map[string]int{
		"503 ServiceUnavailable": 3, "400 Throttling": 3, "400 IDPCommunicationError": 3, "403 AccessDenied": 1, "400 InvalidIdentityToken": 1,
	} {
		m, asked := newMachine(t), 0
		m.setEnv(configured(t)[sourceWebIdentity])
		genuine := m.issuer.STS("eu-central-1", testRole, webToken)
		m.Serve(hostSTS, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 3 {
				genuine(w, r)
				return
			}
			var status int
			var code string
			fmt.Sscan(body, &status, &code)
			w.WriteHeader(status)
			fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code></Error></ErrorResponse>", code)
		})
		if _, err := m.provider(t, Identity{}).Get(t.Context()); asked != want || (err == nil) != (want == 3) {
			t.Errorf("%s: asked %d times, %v", body, asked, err)
		}
	}
}

func TestAnInstanceThatCannotRenewItsCredentialGivesTheLastOne(t *testing.T) {
	m := newMachine(t)
	m.issuer.SetLifetime(-time.Hour)
	p := m.provider(t, Identity{})
	for range 3 {
		if _, err := p.Get(t.Context()); err != nil || m.issuer.Asked() != 1 {
			t.Errorf("%v after %d fetches", err, m.issuer.Asked())
		}
	}
}

func TestCredentialsOfTheSourceThatHaveEndedAreReplaced(t *testing.T) {
	m := newMachine(t)
	p := m.provider(t, Identity{RoleARN: testRole})
	first, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Refuse(first)
	refused := false
	genuine := m.issuer.STS("eu-central-1", testRole, webToken)
	m.Serve(hostSTS, func(w http.ResponseWriter, r *http.Request) {
		if refused {
			genuine(w, r)
			return
		}
		refused = true
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Code>ExpiredToken</Code></Error></ErrorResponse>`)
	})
	if c, err := p.Get(t.Context()); err != nil || c.KeyID == first.KeyID || m.issuer.Asked() != 4 {
		t.Error(c.KeyID, err, m.issuer.Asked())
	}
}

func TestALifeIsMeasuredByTheClockOfTheService(t *testing.T) {
	m := newMachine(t)
	m.Serve(hostECS, func(w http.ResponseWriter, _ *http.Request) {
		served := time.Now().Add(-3 * time.Hour) // the clock of this machine is ahead
		w.Header().Set("Date", served.UTC().Format(http.TimeFormat))
		fmt.Fprintf(w, `{"AccessKeyId":"A","SecretAccessKey":"s","Token":"t","Expiration":%q}`,
			served.Add(time.Hour).UTC().Format(time.RFC3339))
	})
	m.setEnv(map[string]string{envRelativeURI: "/"})
	p := m.provider(t, Identity{})
	if _, err := p.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); !s.Valid || time.Until(s.Expires) < 58*time.Minute {
		t.Errorf("%+v", s)
	}
}
