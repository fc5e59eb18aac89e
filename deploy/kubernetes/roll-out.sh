#!/bin/sh
# Rolls an overlay out: settings and migrations first, and the processes when the tables are as they need them.
#   deploy/kubernetes/roll-out.sh deploy/kubernetes/overlays/production
set -eu
overlay=${1:?which overlay? Give its folder, such as deploy/kubernetes/overlays/production}

kubectl --namespace punctual delete job migrate --ignore-not-found # what a Job runs cannot be changed
kubectl apply --kustomize "$overlay" --selector punctual/phase=before
kubectl --namespace punctual wait --for=condition=complete --timeout=30m job/migrate
kubectl apply --kustomize "$overlay"
for role in web poller recoverer watcher; do
    kubectl --namespace punctual rollout status --timeout=10m "deployment/$role"
done
