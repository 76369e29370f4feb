"""Haystack: the hybrid retrieval pipeline of its tutorial 33, joined by reciprocal rank fusion, without the ranker."""

from __future__ import annotations

from typing import Any

from harness import DEPTH, Row, compete, joined
from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import ComponentDevice
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)
from shared_vectors import share


def index(rows: list[Row], job: dict[str, Any]) -> Any:
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    device = ComponentDevice.from_str("cpu")
    building = Pipeline()
    building.add_component(
        "embedder", SentenceTransformersDocumentEmbedder(model=job["model"], device=device, progress_bar=False)
    )
    building.add_component("writer", DocumentWriter(document_store=store))
    building.connect("embedder", "writer")
    documents = [Document(content=joined(title, text), meta={"name": name}) for name, title, text in rows]
    building.run({"embedder": {"documents": documents}})
    asking = Pipeline()
    asking.add_component(
        "embedder", SentenceTransformersTextEmbedder(model=job["model"], device=device, progress_bar=False)
    )
    asking.add_component("vector", InMemoryEmbeddingRetriever(store))  # each retriever proposes 10, its default
    asking.add_component("keyword", InMemoryBM25Retriever(store))
    asking.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=DEPTH))
    asking.connect("embedder", "vector")
    asking.connect("vector", "joiner")
    asking.connect("keyword", "joiner")
    return asking


def ask(asking: Any, question: str) -> list[str]:
    found = asking.run({"embedder": {"text": question}, "keyword": {"query": question}})
    return [document.meta["name"] for document in found["joiner"]["documents"]]


if __name__ == "__main__":
    share()
    packages = ["haystack-ai", "sentence-transformers-haystack", "sentence-transformers", "transformers", "torch"]
    compete(index, {"hybrid": ask}, packages)
