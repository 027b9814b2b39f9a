package manifests_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

const chart = "../../examples/kubernetes/chart"

// helm runs the program that HATCHEL_HELM names, which make chart installs, and returns what it prints.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("HATCHEL_HELM")
	if program == "" {
		t.Skip("make chart sets HATCHEL_HELM")
	}
	cmd := exec.Command(program, args...)
	// No configuration, no cache and no cluster of a person.
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// rendered has the objects of a release of the chart.
type rendered struct {
	deployment appsv1.Deployment
	service    corev1.Service
	maps       map[string]map[string]string // data of each ConfigMap
	network    *networkingv1.NetworkPolicy
	scaler     *autoscalingv2.HorizontalPodAutoscaler
	budget     *policyv1.PodDisruptionBudget
	claim      *corev1.PersistentVolumeClaim
	account    *corev1.ServiceAccount
	ingress    *networkingv1.Ingress
	route      *gatewayv1.HTTPRoute
	monitor    *monitoringv1.ServiceMonitor
}

// render decodes each object of a release strictly.
func render(t *testing.T, args ...string) *rendered {
	t.Helper()
	out, err := helm(t, append([]string{"template", "tools", chart}, args...)...)
	if err != nil {
		t.Fatal(out)
	}
	r := &rendered{maps: map[string]map[string]string{}}
	seen := map[string]bool{}
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(out))); ; {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return r
		}
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal(text, &head); err != nil {
			t.Fatal(err)
		}
		if name := head.Kind + " " + head.Metadata.Name; seen[name] {
			t.Errorf("%s is there twice", name)
		} else {
			seen[name] = true
		}
		decode(t, text, head.Kind, r)
	}
}

func decode(t *testing.T, text []byte, kind string, r *rendered) {
	t.Helper()
	var files corev1.ConfigMap
	into := map[string]any{
		"Deployment": &r.deployment, "Service": &r.service, "ConfigMap": &files, "Pod": &corev1.Pod{},
		"NetworkPolicy":           &r.network,
		"HorizontalPodAutoscaler": &r.scaler, "PodDisruptionBudget": &r.budget, "PersistentVolumeClaim": &r.claim,
		"ServiceAccount": &r.account, "Ingress": &r.ingress, "HTTPRoute": &r.route, "ServiceMonitor": &r.monitor,
	}
	if into[kind] == nil {
		t.Fatalf("unexpected kind %q:\n%s", kind, text)
	}
	if err := yaml.UnmarshalStrict(text, into[kind]); err != nil {
		t.Errorf("%s: %v\n%s", kind, err, text)
	}
	if kind == "ConfigMap" {
		r.maps[files.Name] = files.Data
	}
}

// sets returns the arguments for helm of each set of values: the defaults, and the files in the folder ci of the chart.
func sets(t *testing.T) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chart, "ci", "*-values.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no values: %v", err)
	}
	args := map[string][]string{"defaults": nil}
	for _, path := range paths {
		args[strings.TrimSuffix(filepath.Base(path), "-values.yaml")] = []string{"--values", path}
	}
	const tools = "../../examples/kubernetes/tools/tools.hcl"
	args["postgres"] = append(args["postgres"], "--set-file", `tools.values.tools\.hcl=`+tools)
	return args
}

// TestChartHasOnlyMembersThatKubernetesKnows renders the chart with each set of values, and checks that what the
// objects name is there.
func TestChartHasOnlyMembersThatKubernetesKnows(t *testing.T) {
	for name, args := range sets(t) {
		t.Run(name, func(t *testing.T) {
			if out, err := helm(t, append([]string{"lint", "--strict", chart}, args...)...); err != nil {
				t.Error(out)
			}
			render(t, args...).check(t)
		})
	}
}

func (r *rendered) check(t *testing.T) {
	t.Helper()
	template := r.deployment.Spec.Template
	selectors := map[string]map[string]string{
		"the Deployment": r.deployment.Spec.Selector.MatchLabels, "the Service": r.service.Spec.Selector,
		"the NetworkPolicy": r.network.Spec.PodSelector.MatchLabels,
	}
	if r.budget != nil {
		selectors["the PodDisruptionBudget"] = r.budget.Spec.Selector.MatchLabels
	}
	for what, selector := range selectors {
		if len(selector) == 0 || !contains(template.Labels, selector) {
			t.Errorf("%s selects %v, and pods have %v", what, selector, template.Labels)
		}
	}
	if r.monitor != nil && !contains(r.service.Labels, r.monitor.Spec.Selector.MatchLabels) {
		t.Errorf("the monitor selects %v, and the service has %v", r.monitor.Spec.Selector, r.service.Labels)
	}
	if r.scaler != nil && r.scaler.Spec.ScaleTargetRef.Name != r.deployment.Name {
		t.Errorf("the autoscaler scales %s", r.scaler.Spec.ScaleTargetRef.Name)
	}
	if (r.scaler == nil) != (r.deployment.Spec.Replicas != nil) {
		t.Error("either the Deployment or an autoscaler says how many pods there are")
	}
	if r.account == nil || r.account.Name != template.Spec.ServiceAccountName {
		t.Errorf("the chart does not make the service account %s of its pods", template.Spec.ServiceAccountName)
	}
	volumes := map[string]corev1.Volume{}
	for _, volume := range template.Spec.Volumes {
		volumes[volume.Name] = volume
		if claim := volume.PersistentVolumeClaim; claim != nil && r.claim != nil && claim.ClaimName != r.claim.Name {
			t.Errorf("the pods use the claim %s, and the chart makes %s", claim.ClaimName, r.claim.Name)
		}
	}
	for _, mount := range template.Spec.Containers[0].VolumeMounts {
		if _, ok := volumes[mount.Name]; !ok {
			t.Errorf("there is no volume %s", mount.Name)
		}
		delete(volumes, mount.Name)
	}
	if len(volumes) > 0 {
		t.Errorf("volumes that are not mounted: %v", slices.Collect(maps.Keys(volumes)))
	}
	container := template.Spec.Containers[0]
	security := container.SecurityContext
	if *security.AllowPrivilegeEscalation || !*security.ReadOnlyRootFilesystem ||
		!slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
		!*template.Spec.SecurityContext.RunAsNonRoot || *template.Spec.AutomountServiceAccountToken {
		t.Errorf("the pods have rights: %v %v", template.Spec.SecurityContext, security)
	}
	if get := container.ReadinessProbe.HTTPGet; get.Path != "/readyz" || get.Port.StrVal != "http" {
		t.Errorf("the readiness probe is %v", get)
	}
}

// TestChartRunsSeveralPodsOnlyWithOneState compares the objects that depend on the state and on the number of pods.
func TestChartRunsSeveralPodsOnlyWithOneState(t *testing.T) {
	sets := sets(t)
	one, several := render(t, sets["defaults"]...), render(t, sets["postgres"]...)
	strategy := one.deployment.Spec.Strategy.Type
	if strategy != appsv1.RecreateDeploymentStrategyType || one.claim == nil || one.budget != nil {
		t.Errorf("a pod with a file has strategy %q, claim %v and budget %v", strategy, one.claim, one.budget)
	}
	strategy = several.deployment.Spec.Strategy.Type
	if strategy != "" || several.claim != nil || several.budget == nil {
		t.Errorf("pods with a database have strategy %q, claim %v, budget %v", strategy, several.claim, several.budget)
	}
	if n := *several.deployment.Spec.Replicas; n != 3 {
		t.Errorf("there are %d replicas", n)
	}
	if len(several.deployment.Spec.Template.Annotations) > 0 {
		t.Errorf("a change of the files would replace the pods: %v", several.deployment.Spec.Template.Annotations)
	}
	existing := render(t, sets["sqlite"]...)
	if existing.claim != nil {
		t.Error("the chart makes a claim beside the existing one")
	}
}

func TestChartLeadsOnlyPublicPathsToTheServer(t *testing.T) {
	sets := sets(t)
	paths := map[string]bool{}
	for _, path := range render(t, sets["ingress"]...).ingress.Spec.Rules[0].HTTP.Paths {
		paths[path.Path+" "+string(*path.PathType)] = true
	}
	if !paths["/mcp Prefix"] || !paths["/ Exact"] || paths["/admin Prefix"] || paths["/ Prefix"] {
		t.Errorf("the Ingress leads %v to the server", paths)
	}
	if rules := render(t, sets["git"]...).route.Spec.Rules; len(rules[0].Matches) != len(paths) {
		t.Errorf("the HTTPRoute has %d paths, and the Ingress %d", len(rules[0].Matches), len(paths))
	}
}

// TestTheServerStartsAsTheChartSays loads the files of the ConfigMap, and parses the flags of the container.
func TestTheServerStartsAsTheChartSays(t *testing.T) {
	args := sets(t)
	first := render(t)
	hatchel := filepath.Join(t.TempDir(), "hatchel")
	build := exec.Command("go", "build", "-C", "../..", "-o", hatchel, "./cmd/hatchel")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(hatchel, args...)
		cmd.Env = []string{"HATCHEL_KEY=a key of sixteen characters", "PROMETHEUS_KEY=another key of sixteen",
			"STATE_DSN=postgres://hatchel@db.example/hatchel"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("hatchel %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for name := range args {
		r := first
		if name != "defaults" {
			r = render(t, args[name]...)
		}
		run(append(slices.Clone(r.deployment.Spec.Template.Spec.Containers[0].Args), "--help")...)
		if files := r.maps["tools-hatchel-tools"]; files != nil {
			folder := t.TempDir()
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run("validate", folder)
		}
	}
}

func TestChartRefusesWrongValues(t *testing.T) {
	for args, want := range map[string]string{
		"--set replicas=3":                              "at '/state/store': value must be 'postgres'",
		"--set autoscaling.enabled=true":                "at '/state/store': value must be 'postgres'",
		"--set replicas=0":                              "at '/replicas': minimum: got 0, want 1",
		"--set replica=2":                               "additional properties 'replica' not allowed",
		"--set service.ports=80":                        "at '/service': additional properties 'ports' not allowed",
		"--set state.store=redis":                       "at '/state/store': value must be one of 'sqlite', 'postgres'",
		"--set state.store=postgres":                    "Add: state { postgres = secret.state }",
		"--set tools.from=values":                       "at '/tools/values': minProperties: got 0, want 1",
		"--set tools.from=configMap":                    "at '/tools/configMap': minLength: got 0, want 1",
		"--set tools.from=git":                          "at '/tools/git/url': minLength: got 0, want 1",
		"--set tools.git.url=https://git.example/tools": "at '/tools/git/url'",
		"--set tools.values.a/b=text":                   "at '/tools/values': additional properties 'a/b' not allowed",
		"--set ingress.enabled=true":                    "at '/ingress/host': minLength: got 0, want 1",
		"--set httpRoute.enabled=true":                  "at '/httpRoute/parentRefs': minItems: got 0, want 1",
		"--set serviceMonitor.enabled=true":             "at '/serviceMonitor/secret': minLength: got 0, want 1",
		"--set image.digest=latest":                     "at '/image/digest'",
		"--set logLevel=trace":                          "value must be one of 'debug', 'info', 'warn', 'error'",
		"--set podDisruptionBudget.maxUnavailable=0%":   "does not match pattern",
		"--set tools.from=image --set state.store=postgres --set autoscaling.enabled=true --set autoscaling.minReplicas=9": "minReplicas is larger than autoscaling.maxReplicas",
		"--set secrets.files={A}":                       "at '/secrets/files/0'",
		"--set podDisruptionBudget.maxUnavailable=half": "at '/podDisruptionBudget/maxUnavailable'",
		"--set state.sqlite.size=large":                 "at '/state/sqlite/size'",
		"--set-string replicas=1":                       "at '/replicas': got string, want integer",
		"--set image.tag=1":                             "at '/image/tag': got number, want string",
		"--set probes.startup.path=/":                   "additional properties 'path' not allowed",
	} {
		out, err := helm(t, append([]string{"template", "tools", chart}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s\ndoes not have %s", args, err, out, want)
		}
	}
}

// TestEachValueIsDescribed finds values that the schema has and values.yaml does not, and the reverse.
func TestEachValueIsDescribed(t *testing.T) {
	var values map[string]any
	var schema struct{ Properties map[string]json.RawMessage }
	for file, target := range map[string]any{"values.yaml": &values, "values.schema.json": &schema} {
		src, err := os.ReadFile(filepath.Join(chart, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(src, target); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	delete(schema.Properties, "global") // Helm adds it to the values of a dependency
	described, accepted := slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(schema.Properties))
	if !slices.Equal(described, accepted) {
		t.Errorf("values.yaml has\n%v\nand the schema\n%v", described, accepted)
	}
}

// contains reports whether labels have all those of a selector.
func contains(labels, selector map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
