package examples_test

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// startKubernetes starts an API of Kubernetes with a namespace, which is also a project, a node, a pod, an event and a
// deployment. It keeps nothing: what is created, changed or deleted is afterwards as before.
func startKubernetes(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(serveKubernetes))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func serveKubernetes(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // one that ends too early is no JSON
	answer, status := kubernetesAnswers[r.URL.Path], http.StatusOK
	switch {
	case strings.HasSuffix(r.URL.Path, "/exec"):
		execInPod(w, r)
		return
	case r.Method == http.MethodDelete && answer != "":
		answer = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	case json.Valid(body):
		answer = string(body) // of what is created or changed
	case answer == "":
		answer, status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound
	case strings.Contains(r.Header.Get("Accept"), "as=Table"):
		answer = kubernetesTable(answer)
	}
	if strings.HasPrefix(answer, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	io.WriteString(w, answer)
}

// kubernetesAnswers are the answers by path, for GET and for questions about permissions.
var kubernetesAnswers = map[string]string{
	"/version": `{"major":"1","minor":"33","gitVersion":"v1.33.0"}`,
	"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join([]string{
		kubernetesGroup("apps", "v1"), kubernetesGroup("authorization.k8s.io", "v1"),
		kubernetesGroup("metrics.k8s.io", "v1beta1"), kubernetesGroup("project.openshift.io", "v1"),
	}, ",") + "]}",
	"/api/v1": kubernetesResources("v1", "namespaces Namespace false", "nodes Node false", "pods Pod true", "events Event true",
		"services Service true"),
	"/apis/apps/v1":                 kubernetesResources("apps/v1", "deployments Deployment true"),
	"/apis/authorization.k8s.io/v1": kubernetesResources("authorization.k8s.io/v1", "selfsubjectaccessreviews SelfSubjectAccessReview false"),
	"/apis/metrics.k8s.io/v1beta1":  kubernetesResources("metrics.k8s.io/v1beta1", "nodes NodeMetrics false", "pods PodMetrics true"),
	"/apis/project.openshift.io/v1": kubernetesResources("project.openshift.io/v1", "projects Project false"),

	"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",` +
		`"status":{"allowed":true}}`,
	"/api/v1/namespaces":                     kubernetesList("v1", "Namespace", named("shop", false), ""),
	"/api/v1/namespaces/shop":                kubernetesObject("v1", "Namespace", named("shop", false), ""),
	"/apis/project.openshift.io/v1/projects": kubernetesList("project.openshift.io/v1", "Project", named("shop", false), ""),
	"/api/v1/events": kubernetesList("v1", "Event", named("printed", true), `,"type":"Normal","reason":"Printed","message":"A page.",`+
		`"involvedObject":{"kind":"Pod","name":"printer","namespace":"shop"}`),

	"/api/v1/nodes":                            kubernetesList("v1", "Node", named("worker", false), kubernetesNode),
	"/api/v1/nodes/worker":                     kubernetesObject("v1", "Node", named("worker", false), kubernetesNode),
	"/api/v1/nodes/worker/proxy/logs":          "kubelet: started\n",
	"/api/v1/nodes/worker/proxy/stats/summary": `{"node":{"nodeName":"worker","cpu":{"usageNanoCores":7}},"pods":[]}`,
	"/apis/metrics.k8s.io/v1beta1/nodes": kubernetesList("metrics.k8s.io/v1beta1", "NodeMetrics", named("worker", false),
		`,"usage":{"cpu":"250m","memory":"512Mi"}`),

	"/api/v1/pods":                             kubernetesList("v1", "Pod", named("printer", true), kubernetesPod),
	"/api/v1/namespaces/shop/pods":             kubernetesList("v1", "Pod", named("printer", true), kubernetesPod),
	"/api/v1/namespaces/shop/pods/printer":     kubernetesObject("v1", "Pod", named("printer", true), kubernetesPod),
	"/api/v1/namespaces/shop/pods/printer/log": "A page was printed.\n",
	"/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods": kubernetesList("metrics.k8s.io/v1beta1", "PodMetrics", named("printer", true),
		`,"containers":[{"name":"main","usage":{"cpu":"5m","memory":"6Mi"}}]`),

	"/apis/apps/v1/namespaces/shop/deployments/web":       kubernetesObject("apps/v1", "Deployment", named("web", true), kubernetesReplica),
	"/apis/apps/v1/namespaces/shop/deployments/web/scale": kubernetesObject("autoscaling/v1", "Scale", named("web", true), kubernetesReplica),
}

const (
	kubernetesNode    = `,"status":{"allocatable":{"cpu":"1","memory":"1Gi"}}`
	kubernetesPod     = `,"spec":{"containers":[{"name":"main","image":"printer"}]},"status":{"phase":"Running"}`
	kubernetesReplica = `,"spec":{"replicas":1}`
)

func kubernetesGroup(name, version string) string {
	return fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":%q,"version":%q}]}`, name, name+"/"+version, version)
}

// kubernetesResources lists the resources of a version, each with its name, its kind, and whether it is in a namespace.
func kubernetesResources(version string, resources ...string) string {
	var list []string
	for _, resource := range resources {
		words := strings.Fields(resource)
		list = append(list, fmt.Sprintf(`{"name":%q,"singularName":"","kind":%q,"namespaced":%s,"verbs":["list","get","create","delete","patch"]}`,
			words[0], words[1], words[2]))
	}
	return fmt.Sprintf(`{"kind":"APIResourceList","groupVersion":%q,"resources":[%s]}`, version, strings.Join(list, ","))
}

// named is the metadata of an object, which is in the namespace shop or in none.
func named(name string, inNamespace bool) string {
	if inNamespace {
		return fmt.Sprintf(`{"name":%q,"namespace":"shop"}`, name)
	}
	return fmt.Sprintf(`{"name":%q}`, name)
}

func kubernetesObject(version, kind, metadata, more string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":%s%s}`, kind, version, metadata, more)
}

func kubernetesList(version, kind, metadata, more string) string {
	const list = `{"kind":%q,"apiVersion":%q,"metadata":{},"items":[%s]}`
	return fmt.Sprintf(list, kind+"List", version, kubernetesObject(version, kind, metadata, more))
}

// kubernetesTable is a list in the form in which command lines show it.
func kubernetesTable(list string) string {
	var of struct{ Items []json.RawMessage }
	json.Unmarshal([]byte(list), &of)
	var rows []string
	for _, item := range of.Items {
		var object struct{ Metadata struct{ Name string } }
		json.Unmarshal(item, &object)
		rows = append(rows, fmt.Sprintf(`{"cells":[%q],"object":%s}`, object.Metadata.Name, item))
	}
	return fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},`+
		`"columnDefinitions":[{"name":"Name","type":"string","format":"name"}],"rows":[%s]}`, strings.Join(rows, ","))
}

// execInPod answers over a WebSocket (RFC 6455) that a command has printed a line and succeeded.
func execInPod(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	const stdout, status = "\x01", "\x03"
	for _, message := range []string{stdout + "hello\n", status + `{"metadata":{},"status":"Success"}`} {
		const lastBinary = 0x82
		conn.Write(append([]byte{lastBinary, byte(len(message))}, message...))
	}
	const lastClose, normal = 0x88, 1000
	conn.Write([]byte{lastClose, 2, normal >> 8, normal & 0xff})
	io.Copy(io.Discard, conn)
}
