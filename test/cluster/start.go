// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	sourceNamespace = "flux-system"
	// patience is for one thing to become ready. It is long because the machine
	// may be compiling Kubernetes at the same time; a component that has ended is
	// noticed at once.
	patience = 3 * time.Minute
)

// start starts the components in order. It waits only for conditions that the next step, or the
// caller, needs.
func (s *supervisor) start(ctx context.Context) error {
	if err := writePKI(s.pki(""), s.server()); err != nil {
		return err
	}
	var err error
	if s.api, err = newAPIClient(s.request); err != nil {
		return err
	}
	if err := s.launch(s.etcd()); err != nil {
		return err
	}
	if err := s.await(ctx, etcd, s.etcdHealthy); err != nil {
		return err
	}
	if s.AuditLog != "" {
		if err := os.WriteFile(s.auditPolicy(), []byte(auditPolicy), 0o600); err != nil {
			return err
		}
	}
	if err := s.launch(s.apiServer()); err != nil {
		return err
	}
	if err := s.await(ctx, apiServer, s.apiReady); err != nil {
		return err
	}
	s.tell("the API server is ready")
	if err := s.launchNodes(ctx); err != nil {
		return err
	}
	if s.SourceController {
		if err := s.launchSourceController(ctx); err != nil {
			return err
		}
	}
	last := kwok
	if s.Node {
		if err := s.launchNode(ctx); err != nil {
			return err
		}
		last = kubelet
	}
	if err := s.await(ctx, controllerManager, s.defaultServiceAccount); err != nil {
		return err
	}
	if err := s.await(ctx, last, s.nodesReady); err != nil {
		return err
	}
	if s.SourceController {
		return s.await(ctx, sourceControllerName, s.sourceHealthy)
	}
	return nil
}

func (s *supervisor) launchNodes(ctx context.Context) error {
	stages, err := filepath.Glob(filepath.Join(s.Bin, "stages", "*.yaml"))
	if err != nil {
		return err
	}
	for _, c := range []component{s.controllerManager(), s.scheduler(), s.kwok(stages)} {
		if err := s.launch(c); err != nil {
			return err
		}
	}
	if err := s.createObject(ctx, "/apis/storage.k8s.io/v1/storageclasses", "application/json", []byte(storageClass)); err != nil {
		return err
	}
	for i := range s.Nodes {
		node, err := json.Marshal(nodeManifest(fmt.Sprintf("node-%d", i+1)))
		if err != nil {
			return err
		}
		if err := s.createObject(ctx, "/api/v1/nodes", "application/json", node); err != nil {
			return err
		}
	}
	return nil
}

// storageClass is the default one, so that charts with volumes become ready. kwok's Stages for
// volumes select its name.
const storageClass = `{
  "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
  "metadata": {"name": "kwok-volume", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
  "provisioner": "kwok.x-k8s.io/volume"
}`

func nodeManifest(name string) map[string]any {
	resources := map[string]string{"cpu": "32", "memory": "256Gi", "pods": "500"}
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": map[string]any{
			"name":        name,
			"annotations": map[string]string{nodeAnnotation: "fake"},
			"labels": map[string]string{
				"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			},
		},
		"status": map[string]any{"allocatable": resources, "capacity": resources},
	}
}

func (s *supervisor) launchSourceController(ctx context.Context) error {
	namespace := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, sourceNamespace)
	if err := s.createObject(ctx, "/api/v1/namespaces", "application/json", namespace); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(s.Bin, "source-crds", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		crd, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := s.createObject(ctx, crdPath, "application/yaml", crd); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	// The controller gives up when a kind it watches is not served.
	if err := s.await(ctx, apiServer, s.crdsEstablished(len(files))); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.State, "source"), 0o700); err != nil {
		return err
	}
	return s.launch(s.sourceController())
}

// createObject retries, since admission rejects some requests until its caches are filled shortly
// after /readyz.
func (s *supervisor) createObject(ctx context.Context, path, contentType string, body []byte) error {
	return s.await(ctx, apiServer, func(ctx context.Context) error {
		return s.api.create(ctx, path, contentType, body)
	})
}

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func (s *supervisor) etcdHealthy(ctx context.Context) error {
	return healthy(ctx, "http://"+s.Ports.etcd()+"/health")
}

func (s *supervisor) sourceHealthy(ctx context.Context) error {
	return healthy(ctx, "http://"+s.Ports.sourceHealth()+"/readyz")
}

func (s *supervisor) apiReady(ctx context.Context) error {
	return s.api.get(ctx, "/readyz", nil)
}

func (s *supervisor) defaultServiceAccount(ctx context.Context) error {
	return s.api.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
}

type conditions []struct{ Type, Status string }

func (c conditions) has(name string) bool {
	for _, condition := range c {
		if condition.Type == name {
			return condition.Status == "True"
		}
	}
	return false
}

// nodesReady also waits until the taints are gone: a node that has just become Ready keeps its
// not-ready taint for a moment, which would delay Pods until the next scheduling attempt.
func (s *supervisor) nodesReady(ctx context.Context) error {
	var nodes struct {
		Items []struct {
			Spec   struct{ Taints []any }
			Status struct{ Conditions conditions }
		}
	}
	if err := s.api.get(ctx, "/api/v1/nodes", &nodes); err != nil {
		return err
	}
	want := s.Nodes
	if s.Node {
		want++
	}
	if len(nodes.Items) < want {
		return fmt.Errorf("%d of %d nodes are there", len(nodes.Items), want)
	}
	for _, node := range nodes.Items {
		if !node.Status.Conditions.has("Ready") || len(node.Spec.Taints) > 0 {
			return errors.New("a node is not ready")
		}
	}
	return nil
}

func (s *supervisor) crdsEstablished(want int) func(context.Context) error {
	return func(ctx context.Context) error {
		var crds struct {
			Items []struct {
				Status struct{ Conditions conditions }
			}
		}
		if err := s.api.get(ctx, crdPath, &crds); err != nil {
			return err
		}
		established := 0
		for _, crd := range crds.Items {
			if crd.Status.Conditions.has("Established") {
				established++
			}
		}
		if established < want {
			return fmt.Errorf("%d of %d CRDs are established", established, want)
		}
		return nil
	}
}
