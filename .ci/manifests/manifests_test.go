// Package manifests_test reads the examples of Kubernetes and Docker with the types of those programs. It is a module of
// its own, so that hatchel does not depend on them.
package manifests_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// TestKustomizationHasOnlyMembersThatKubernetesKnows builds the kustomization and decodes each object strictly.
func TestKustomizationHasOnlyMembersThatKubernetesKnows(t *testing.T) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../examples/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	var tools corev1.ConfigMap
	into := map[string]any{
		"Deployment": &deployment, "ConfigMap": &tools, "Service": &corev1.Service{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{},
		"PodDisruptionBudget":     &policyv1.PodDisruptionBudget{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
	}
	for _, object := range built.Resources() {
		text, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		target := into[object.GetKind()]
		if target == nil {
			t.Fatalf("unexpected kind %s", object.GetKind())
		}
		if err := yaml.UnmarshalStrict(text, target); err != nil {
			t.Errorf("%s: %v", object.GetKind(), err)
		}
		delete(into, object.GetKind())
	}
	for kind := range into {
		t.Errorf("there is no %s", kind)
	}
	pod := deployment.Spec.Template.Spec
	if mounted := pod.Volumes[0].ConfigMap.Name; mounted != "tools" || tools.Name != "tools" || tools.Data["tools.hcl"] == "" {
		t.Errorf("the pod mounts %s, and the folder of tools is %s with %d files", mounted, tools.Name, len(tools.Data))
	}
	if len(deployment.Spec.Template.Annotations) > 0 {
		t.Errorf("annotations replace the pods: %v", deployment.Spec.Template.Annotations)
	}
}

func TestServiceMonitorSelectsTheService(t *testing.T) {
	var monitor monitoringv1.ServiceMonitor
	var service corev1.Service
	for file, target := range map[string]any{"servicemonitor.yaml": &monitor, "service.yaml": &service} {
		src, err := os.ReadFile(filepath.Join("../../examples/kubernetes", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(src, target); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if selected := monitor.Spec.Selector.MatchLabels; len(selected) == 0 || !maps.Equal(selected, service.Labels) {
		t.Errorf("the monitor selects %v, and the service has %v", selected, service.Labels)
	}
	if port := monitor.Spec.Endpoints[0].Port; port != service.Spec.Ports[0].Name {
		t.Errorf("the monitor names the port %s, and the service has %s", port, service.Spec.Ports[0].Name)
	}
}

func TestStrictDecodingFindsAMemberThatKubernetesDoesNotKnow(t *testing.T) {
	if err := yaml.UnmarshalStrict([]byte("spec: { replica: 2 }"), &appsv1.Deployment{}); err == nil {
		t.Error("replica is accepted")
	}
}

func TestComposeFileGivesTheContainerNoRights(t *testing.T) {
	folder := t.TempDir()
	src, err := os.ReadFile("../../examples/docker/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "compose.yaml")
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("hatchel"), cli.WithEnv([]string{"HATCHEL_KEY=a key of a test"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	service := project.Services["hatchel"]
	if !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) || service.Ports[0].HostIP != "127.0.0.1" {
		t.Errorf("read only: %v, dropped: %v, ports: %v", service.ReadOnly, service.CapDrop, service.Ports)
	}
}
